/** Looks at every picker's list again and again, as a reader of numbers would, and notes ages. */
import { setTimeout as delay } from 'node:timers/promises';
import { viewOf } from '../view.ts';

const lookEveryMs = 100;

export class AgeWatch {
  oldestMs = Number.NaN;
  oldestFreshMs = Number.NaN;
  readonly #stopping = new AbortController();
  readonly #done: Promise<unknown>;

  /** `urls` is asked anew at each look, as pickers come back elsewhere. */
  constructor(urls: () => readonly string[]) {
    this.#done = this.#run(urls);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#done;
  }

  async #run(urls: () => readonly string[]): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      // A picker that is away shows nothing; what the other one shows counts.
      await Promise.allSettled(urls().map((url) => this.#look(url)));
      await delay(lookEveryMs, undefined, { signal }).catch(() => {});
    }
  }

  async #look(url: string): Promise<void> {
    for (const { ageMs, state } of await viewOf(url)) {
      this.oldestMs = older(this.oldestMs, ageMs);
      if (state === 'fresh') this.oldestFreshMs = older(this.oldestFreshMs, ageMs);
    }
  }
}

/** The greater of two ages; NaN, null and a missing one are none. */
export function older(seenMs: number, ageMs: number | null | undefined): number {
  if (typeof ageMs !== 'number' || Number.isNaN(ageMs)) return seenMs;
  return Number.isNaN(seenMs) ? ageMs : Math.max(seenMs, ageMs);
}
