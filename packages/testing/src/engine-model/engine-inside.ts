/** What only an oracle knows of a modelled engine: its queue and its cache at this moment. */
import type { Batch } from './batch.ts';
import type { EngineRequest } from './sequence.ts';
import type { WaitingQueue } from './waiting-queue.ts';

export class EngineInside {
  readonly #batch: Batch;
  readonly #waiting: WaitingQueue;

  constructor(batch: Batch, waiting: WaitingQueue) {
    this.#batch = batch;
    this.#waiting = waiting;
  }

  get running(): number {
    return this.#batch.running.length;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** The request that has `at` others before it in the queue; 0 ≤ `at` < `waiting`. */
  waitingAt(at: number): EngineRequest {
    const sequence = this.#waiting.at(at);
    if (sequence === undefined) throw new RangeError('nothing waits there');
    return sequence.request;
  }

  /** Tokens of admitted prompts that are still to be computed. O(prompts under way). */
  get prefillTokensLeft(): number {
    let tokens = 0;
    const { prefilling } = this.#batch;
    for (let i = 0; i < prefilling.length; i++) {
      tokens += prefilling[i]!.prefillTarget - prefilling[i]!.computed;
    }
    return tokens;
  }

  /** Tokens of context that the running requests hold, a shared one counted by each. */
  get contextTokens(): number {
    return this.#batch.kvTokens;
  }

  get kvBlocksUsed(): number {
    return this.#batch.kv.used;
  }

  /** How many leading hashes of the first `count` are cached. */
  cachedBlocks(hashes: ArrayLike<number>, count: number): number {
    return this.#batch.kv.match(hashes, count);
  }
}
