/** What the log said last of each pool, so that a state is said when it changes and not each time. */
import type { PoolStatus } from '../pool/pool-registry.ts';

export class SaidByPool {
  readonly #said = new Map<string, string>();

  /** Whether `text` is news of this pool; '' is what is known of every pool at first. */
  isNews(pool: string, text: string): boolean {
    if ((this.#said.get(pool) ?? '') === text) return false;
    this.#said.set(pool, text);
    return true;
  }

  /** Forgets pools that are no more. */
  keepOnly(pools: readonly PoolStatus[]): void {
    for (const name of this.#said.keys()) {
      if (!pools.some(({ pool }) => pool === name)) this.#said.delete(name);
    }
  }
}
