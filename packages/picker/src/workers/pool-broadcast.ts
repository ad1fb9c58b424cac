/**
 * Tells the workers of changed pools, several changes at once.
 *
 * Under a rolling update a pool changes with every pod; each change costs every worker the copy of
 * a whole list. Changes within a few milliseconds are therefore told as one, the newest list of
 * each pool. That delay is small against the 100 ms within which a pick must see a change.
 */
import type { PoolUpdate } from '@leadsman/scheduling/endpoint';
import type { PoolChanges } from '../pool/pool-registry.ts';

/** How long a change may wait for others, ms. */
export const broadcastDelayMs = 5;
/** Before changes are told again whose telling failed, ms. */
const retryMs = 500;

export class PoolBroadcast implements PoolChanges {
  readonly #tell: (updates: PoolUpdate[], removed: string[]) => void;
  readonly #onFault: (error: unknown) => void;
  readonly #updates = new Map<string, PoolUpdate>();
  readonly #removed = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  /** `tell` may throw: then `onFault` hears of it, and the changes are told again. */
  constructor(
    tell: (updates: PoolUpdate[], removed: string[]) => void,
    onFault: (error: unknown) => void,
  ) {
    this.#tell = tell;
    this.#onFault = onFault;
  }

  poolUpdated(update: PoolUpdate): void {
    this.#removed.delete(update.pool);
    this.#updates.set(update.pool, update);
    this.#later();
  }

  poolRemoved(pool: string): void {
    this.#updates.delete(pool);
    this.#removed.add(pool);
    this.#later();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #later(delayMs: number = broadcastDelayMs): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      try {
        this.#tell([...this.#updates.values()], [...this.#removed]);
        this.#updates.clear();
        this.#removed.clear();
      } catch (error) {
        this.#onFault(error);
        this.#later(retryMs);
      }
    }, delayMs);
  }
}
