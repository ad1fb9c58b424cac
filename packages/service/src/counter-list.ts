/**
 * Counters declared in one list: from it follow the interface, the zeroes and the metrics
 * (`registerCounterList`). They are plain numbers where things happen, and are read when a scrape
 * asks. This file loads no metrics library, which not every process that counts needs.
 */
/** Rest of the metric's name, help, and the value of its label `reason` if it has one. */
export type CounterEntry = readonly [name: string, help: string, reason?: string];

/** By the key under which it is counted. Entries of one name are one metric, told apart by reason. */
export type CounterList = Readonly<Record<string, CounterEntry>>;

/** The counters of a list, by key. */
export type Counted<L extends CounterList> = { -readonly [K in keyof L]: number };

/** All counters of a list at 0. */
export function zeroes<L extends CounterList>(list: L): Counted<L> {
  return Object.fromEntries(Object.keys(list).map((key) => [key, 0])) as Counted<L>;
}
