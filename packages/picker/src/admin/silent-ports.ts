/**
 * Endpoints whose port never answered: a pool that lists eight ports of pods of which one listens
 * looks whole by its members, and fails seven requests of eight wherever it is picked from blindly.
 * They are told by `/v1/pools`, and in the log once per change of a pool's list.
 */
import type { Logger } from '@leadsman/service';
import type { ViewReader } from '@leadsman/view/reader';
import { isLoadKnown } from '@leadsman/view/trust';
import { metric, reason } from '@leadsman/wire';
import type { PoolStatus } from '../pool/pool-registry.ts';
import { SaidByPool } from './said-by-pool.ts';

/** Destinations that are named; the number of all is told beside them. */
export const namedMax = 32;

export interface SilentList {
  count: number;
  /** `address:port`, the first {@link namedMax}. */
  destinations: string[];
}

export class SilentPorts {
  readonly #reader: ViewReader;
  readonly #logger: Logger;
  readonly #said = new SaidByPool();

  /** `reader` must not be refreshed by anybody else meanwhile. */
  constructor(reader: ViewReader, logger: Logger) {
    this.#reader = reader;
    this.#logger = logger;
  }

  /** Members of a pool of which a scrape was refused and none ever succeeded. */
  of({ endpoints }: Pick<PoolStatus, 'endpoints'>): SilentList {
    this.#reader.refresh();
    const list: SilentList = { count: 0, destinations: [] };
    for (const { podKey, port, destination } of endpoints) {
      if (!this.#neverAnswered(this.#reader.slotOf(podKey, port))) continue;
      list.count++;
      if (list.destinations.length < namedMax) list.destinations.push(destination);
    }
    return list;
  }

  /** Logs what changed; call every few seconds. */
  look(pools: readonly PoolStatus[]): void {
    for (const pool of pools) {
      const silent = this.of(pool);
      const text = silent.count === 0 ? '' : `${silent.count} ${silent.destinations.join()}`;
      if (!this.#said.isNews(pool.pool, text)) continue;
      if (silent.count === 0) this.#logger.info({ pool: pool.pool }, 'all ports have answered');
      else {
        this.#logger.warn(
          { pool: pool.pool, ...silent, of: pool.endpoints.length },
          'ports that never answered: does the pool list ports on which no engine listens?',
        );
      }
    }
    this.#said.keepOnly(pools);
  }

  #neverAnswered(slot: number): boolean {
    const reader = this.#reader;
    if (slot < 0 || !reader.isUsed(slot) || reader.reason(slot) !== reason.connect) return false;
    const running = reader.numberOf(slot, metric.runningRequests);
    return !isLoadKnown(running, reader.numberOf(slot, metric.waitingRequests));
  }
}
