/**
 * Waiting times between attempts: doubling up to a bound, each shortened by up to half at random, so
 * that a thousand processes whose server came back do not knock in step.
 *
 * Invariant: a delay is never below `floorMs` of its call, so a refusal that asks for patience
 * (403, 429) bounds the request rate whatever the jitter says.
 */
export interface BackoffOptions {
  /** Delay after the first failure, ms. */
  readonly firstMs: number;
  /** No delay is longer, ms, but for a floor. */
  readonly maxMs: number;
  /** 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
}

/** Doublings after which the bound is long reached; 2 to a large power would be infinite. */
const doublingsMax = 30;

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

  /** How long to wait now, ms, after one more failure: between half and all of the doubled step. */
  next(floorMs = 0): number {
    const { firstMs, maxMs, random } = this.#options;
    const step = Math.min(maxMs, firstMs * 2 ** Math.min(this.#failures, doublingsMax));
    this.#failures++;
    return Math.max(floorMs, step * (0.5 + random() / 2));
  }

  /** After a success. */
  reset(): void {
    this.#failures = 0;
  }
}

/** Resolves after `ms`, or at once when `signal` is aborted. Never rejects. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
  });
}
