/** Everything that is wrong with a strategy file. */
export class StrategyFileError extends Error {
  override readonly name = 'StrategyFileError';
  /** One line each: `file:line: what is wrong`. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`the strategy file is not usable:\n${problems.map((text) => `  ${text}`).join('\n')}`);
    this.problems = problems;
  }
}
