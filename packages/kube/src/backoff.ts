/**
 * How long to wait after the n-th failure in a row: doubling up to a cap, with jitter so that
 * the pickers of a cluster do not return in step after the API server was away.
 *
 * Invariant: a delay is never below `floorMs` of its call, so a refusal that asks for patience
 * (403, 429) bounds the request rate whatever the jitter says.
 */
export interface BackoffOptions {
  /** Delay after the first failure, ms. */
  readonly firstMs: number;
  readonly maxMs: number;
  /** 0 ≤ random < 1. */
  readonly random: () => number;
}

export class Backoff {
  readonly #options: BackoffOptions;
  #failures = 0;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** Failures in a row. */
  get failures(): number {
    return this.#failures;
  }

  /** The delay before the next try, ms: between half and all of the doubled step. */
  next(floorMs = 0): number {
    const { firstMs, maxMs, random } = this.#options;
    const step = Math.min(maxMs, firstMs * 2 ** Math.min(this.#failures, 30));
    this.#failures++;
    return Math.max(floorMs, step * (0.5 + 0.5 * random()));
  }

  reset(): void {
    this.#failures = 0;
  }
}
