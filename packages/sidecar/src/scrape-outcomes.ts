import { type Reason, reasonName, reasonNames } from '@leadsman/wire';

/** Scrapes by how they ended. */
export class ScrapeOutcomes {
  readonly counts = new Map<string, number>(reasonNames.map((name) => [name, 0]));

  add(code: Reason): void {
    const name = reasonName(code);
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }
}
