/**
 * Running means over the requests of a pool. They start at typical chat sizes and follow the first
 * requests faster than later ones.
 */
/** Running means over the requests of one pool. */
export interface RequestMeans {
  readonly promptTokens: number;
  /** Prompt tokens that were not in the endpoint's cache when it was picked. */
  readonly uncachedTokens: number;
  readonly outputTokens: number;
}

const weightMin = 0.01;

export class RunningMeans implements RequestMeans {
  promptTokens = 512;
  uncachedTokens = 512;
  outputTokens = 128;
  #picked = 0;
  #ended = 0;

  /** A request was sent; both numbers in tokens. */
  sent(promptTokens: number, uncachedTokens: number): void {
    const weight = Math.max(weightMin, 1 / (++this.#picked + 10));
    this.promptTokens += weight * (promptTokens - this.promptTokens);
    this.uncachedTokens += weight * (uncachedTokens - this.uncachedTokens);
  }

  /** A request ended after so many tokens of output. */
  ended(outputTokens: number): void {
    const weight = Math.max(weightMin, 1 / (++this.#ended + 10));
    this.outputTokens += weight * (outputTokens - this.outputTokens);
  }
}
