/**
 * Waiting times between attempts to connect: doubling up to a bound, each shortened by up to half
 * at random, so that a thousand senders whose server came back do not knock in step.
 */

export interface BackoffOptions {
  /** The first wait, ms. */
  firstMs: number;
  /** No wait is longer, ms. */
  maxMs: number;
  /** 0 (inclusive) to 1 (exclusive). */
  random: () => number;
}

export class Backoff {
  readonly #options: BackoffOptions;
  #nextMs: number;

  constructor(options: BackoffOptions) {
    this.#options = options;
    this.#nextMs = options.firstMs;
  }

  /** How long to wait now, ms, after one more failure. */
  next(): number {
    const ceilingMs = this.#nextMs;
    this.#nextMs = Math.min(this.#options.maxMs, this.#nextMs * 2);
    return ceilingMs * (0.5 + this.#options.random() / 2);
  }

  /** After a success. */
  reset(): void {
    this.#nextMs = this.#options.firstMs;
  }
}

/** Resolves after `ms`, or at once when `signal` is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}
