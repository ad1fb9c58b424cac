/** What a command may do to the world; tests bring their own. */
export interface CommandIo {
  /** The answer: standard output. */
  write(text: string): void;
  /** What went wrong: standard error. */
  warn(text: string): void;
  /** Ends the command with this code, see {@link exitCode}. */
  setExitCode(code: number): void;
}

/** What the codes of all commands mean; docs/cli.md says it to people. */
export const exitCode = {
  /** Done, and what was asked about is well. */
  good: 0,
  /** The question was asked, and the answer is bad: a fault was found, or nobody answered. */
  bad: 1,
  /** Used wrongly: an unknown command or flag, a value that cannot be, a file that is not there. */
  usage: 2,
} as const;
