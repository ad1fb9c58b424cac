/**
 * Tells the ext_proc threads of changed pools, several changes at once.
 *
 * Under a rolling update a pool changes with every pod; each change costs every thread the copy of
 * a whole list. Changes within a few milliseconds are therefore told as one, the newest list of
 * each pool. That delay is small against the 100 ms within which a pick must see a change.
 */
import type { PoolUpdate } from '@leadsman/scheduling/endpoint';
import type { PoolChanges } from '../pool/pool-registry.ts';

/** How long a change may wait for others, ms. */
export const broadcastDelayMs = 5;

export class PoolBroadcast implements PoolChanges {
  readonly #tell: (updates: PoolUpdate[], removed: string[]) => void;
  readonly #updates = new Map<string, PoolUpdate>();
  readonly #removed = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(tell: (updates: PoolUpdate[], removed: string[]) => void) {
    this.#tell = tell;
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

  #later(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const updates = [...this.#updates.values()];
      const removed = [...this.#removed];
      this.#updates.clear();
      this.#removed.clear();
      this.#tell(updates, removed);
    }, broadcastDelayMs);
  }
}
