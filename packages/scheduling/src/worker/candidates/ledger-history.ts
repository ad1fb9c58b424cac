/**
 * How many requests the ledger had in flight at each endpoint a short while ago.
 *
 * A report describes the moment of its scrape, some 10 to 100 ms back. Requests sent since then
 * are missing in it, those that were in flight at that moment are counted in it. Only by
 * comparing the report with the ledger *of that moment* can the two be added up without counting
 * a request twice.
 *
 * Memory: `samplesMax` columns of Int32 by in-flight index, reused as a ring; at 10 ms a sample
 * 128 of them reach back 1.3 s, and 1,000 endpoints take 0.5 MB. Cost: one load per endpoint and
 * sample.
 */
import { inFlightFields } from '../../shared/in-flight-table.ts';
import type { Ledger } from './ledger.ts';

const samplesMax = 128;

export class LedgerHistory {
  readonly #ledger: Ledger;
  readonly #timesMs = new Float64Array(samplesMax);
  #columns: Int32Array[] = [];
  /** Indexes below are sampled. */
  #width = 0;
  /** Samples ever taken; the newest is at `(taken − 1) % samplesMax`. */
  #taken = 0;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** Makes room for in-flight indexes below `width`; earlier samples of the others are kept. */
  reserve(width: number): void {
    if (width <= this.#width) return;
    this.#width = width;
    const length = this.#columns[0]?.length ?? 0;
    if (width <= length) return;
    const grown = Math.max(width, length * 2);
    this.#columns = Array.from({ length: samplesMax }, (_, i) => {
      const column = new Int32Array(grown);
      const before = this.#columns[i];
      if (before !== undefined) column.set(before);
      return column;
    });
  }

  /** Takes a sample. `nowMs` never goes back. */
  record(nowMs: number): void {
    const at = this.#taken % samplesMax;
    const column = this.#columns[at];
    if (column === undefined) return;
    this.#timesMs[at] = nowMs;
    const { own, remote } = this.#ledger;
    for (let index = 0, at = 0; index < this.#width; index++, at += inFlightFields) {
      column[index] = own[at]! + remote[at]!;
    }
    this.#taken++;
  }

  /** Requests in flight at an endpoint now. */
  requestsNow(index: number): number {
    return this.#ledger.requests(index);
  }

  /**
   * Requests in flight at an endpoint at `timeMs`: the last sample not after it, else the oldest,
   * else what is in flight now.
   */
  requestsAt(index: number, timeMs: number): number {
    if (this.#taken === 0 || index >= this.#width) return this.#ledger.requests(index);
    const oldest = Math.max(0, this.#taken - samplesMax);
    let low = oldest;
    let high = this.#taken - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#timesMs[middle % samplesMax]! <= timeMs) low = middle;
      else high = middle - 1;
    }
    return this.#columns[low % samplesMax]?.[index] ?? 0;
  }
}
