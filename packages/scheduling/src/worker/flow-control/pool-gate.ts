/**
 * Whether some endpoint of a pool can take a request now: a search over the best trust class, which
 * begins where the last one found room, so that an open gate costs a few loads and a closed one a
 * pass over the pool.
 *
 * Where most of the pool fell silent and the rest is full, the silent ones count as well, as they do
 * for picks: reports fail to come then, not pods.
 */
import { trust } from '@leadsman/view/trust';
import type { CandidateTable } from '../candidates/candidate-table.ts';
import type { Ledger } from '../candidates/ledger.ts';
import { isFeedFailing, type SaturationLimits } from '../candidates/saturation.ts';
import { EndpointRoom, type RoomOptions } from './endpoint-room.ts';

export class PoolGate {
  readonly #table: CandidateTable;
  readonly #room: EndpointRoom;
  #from = 0;

  constructor(table: CandidateTable, ledger: Ledger, options: RoomOptions) {
    this.#table = table;
    this.#room = new EndpointRoom(table, ledger, options);
  }

  configure(options: RoomOptions): void {
    this.#room.options = options;
  }

  /** No endpoint has fresh numbers: the gate goes by the ledger alone. */
  get isBlind(): boolean {
    return this.#table.classCounts[trust.fresh] === 0;
  }

  isOpen(meanPromptTokens: number, saturation: SaturationLimits): boolean {
    const table = this.#table;
    const { preferred, preferredCount } = table;
    for (let i = 0; i < preferredCount; i++) {
      const at = (this.#from + i) % preferredCount;
      if (!this.#room.has(preferred[at]!, meanPromptTokens)) continue;
      this.#from = at;
      return true;
    }
    if (!isFeedFailing(table, saturation)) return false;
    for (let position = 0; position < table.count; position++) {
      if (table.trust[position] !== trust.stale) continue;
      if (this.#room.has(position, meanPromptTokens)) return true;
    }
    return false;
  }
}
