/**
 * Mends the totals of the in-flight table after a worker was killed between its two additions, the
 * one to its own row and the one to the total.
 *
 * Workers go on adding meanwhile and look the same for some 50 ns. So a total is corrected by what
 * was found off by the same amount in two audits in a row, a quarter of a second apart.
 *
 * Cost: an audit reads the whole table, 10,000 endpoints and 2 workers about a millisecond; there
 * are three after each death and none otherwise.
 */
import type { InFlightTable } from './in-flight-table.ts';

const auditIntervalMs = 250;
const auditsPerDeath = 3;

export class InFlightAudit {
  readonly #table: InFlightTable;
  #seen = new Map<number, number>();
  #left = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(table: InFlightTable) {
    this.#table = table;
  }

  /** A worker died, and its row was taken back. */
  begin(): void {
    this.#left = auditsPerDeath;
    this.#timer ??= setInterval(() => this.audit(), auditIntervalMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** One audit; corrects what the last one found as well. */
  audit(): void {
    const found = this.#table.discrepancies();
    for (const [at, off] of found) {
      if (this.#seen.get(at) !== off) continue;
      this.#table.correct(at, off);
      found.delete(at);
    }
    this.#seen = found;
    if (--this.#left > 0) return;
    this.#seen.clear();
    this.stop();
  }
}
