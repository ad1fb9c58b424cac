/**
 * Members whose next scrape is planned for later than their numbers are trusted: they are stale by
 * plan, and are picked last for a setting that nobody meant. Either `staleAfterMs` is too short, or
 * the sidecars' intervals are too long (`--interval-ms-max`, or an engine whose page is slow).
 */
import type { Logger } from '@leadsman/service';
import type { ViewReader } from '@leadsman/view/reader';
import { metric } from '@leadsman/wire';
import type { PoolStatus } from '../pool/pool-registry.ts';
import { SaidByPool } from './said-by-pool.ts';

export class SlowReports {
  readonly #reader: ViewReader;
  readonly #logger: Logger;
  readonly #staleAfterMs: (pool: string) => number;
  readonly #said = new SaidByPool();

  /** `reader` must belong to this object alone. */
  constructor(reader: ViewReader, logger: Logger, staleAfterMs: (pool: string) => number) {
    this.#reader = reader;
    this.#logger = logger;
    this.#staleAfterMs = staleAfterMs;
  }

  /** Members of the pool that are scraped less often than their numbers are trusted. */
  of({ pool, endpoints }: PoolStatus): number {
    this.#reader.refresh();
    const staleAfterMs = this.#staleAfterMs(pool);
    let count = 0;
    for (const { podKey, port } of endpoints) {
      const slot = this.#reader.slotOf(podKey, port);
      if (slot < 0 || !this.#reader.isUsed(slot)) continue;
      if (this.#reader.numberOf(slot, metric.scrapeIntervalMs) > staleAfterMs) count++;
    }
    return count;
  }

  /** Logs what changed; call every few seconds. */
  look(pools: readonly PoolStatus[]): void {
    for (const pool of pools) {
      const slow = this.of(pool);
      if (!this.#said.isNews(pool.pool, slow === 0 ? '' : 'slow') || slow === 0) continue;
      this.#logger.warn(
        { pool: pool.pool, endpoints: slow, staleAfterMs: this.#staleAfterMs(pool.pool) },
        'endpoints are scraped less often than their numbers are trusted: raise staleAfterMs',
      );
    }
    this.#said.keepOnly(pools);
  }
}
