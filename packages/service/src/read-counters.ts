/**
 * Counters that are kept as plain numbers where things happen, and read when a scrape asks: hot
 * paths then pay for an addition, not for a metrics library.
 */
import { Counter, type Registry } from 'prom-client';
import type { Counted, CounterEntry, CounterList } from './counter-list.ts';

/** Rest of the name, help, and what reads the value, which never falls. */
export type ReadCounter = readonly [name: string, help: string, read: () => number];

/** Registers a counter `leadsman_<owner>_<name>` each. Throws when a name is registered already. */
export function registerReadCounters(
  registry: Registry,
  owner: string,
  counters: Iterable<ReadCounter>,
): void {
  for (const [name, help, read] of counters) {
    new Counter({
      name: `leadsman_${owner}_${name}`,
      help,
      registers: [registry],
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  }
}

/**
 * Registers `leadsman_<owner>_<name>` for each name of the list; `read` gives what was counted, or
 * nothing yet. Throws when a name is registered already.
 */
export function registerCounterList<L extends CounterList>(
  registry: Registry,
  owner: string,
  list: L,
  read: () => Readonly<Counted<L>> | undefined,
): void {
  const byName = Map.groupBy(Object.entries(list), ([, [name]]) => name);
  for (const [name, entries] of byName) {
    const [, help] = (entries[0] as [string, CounterEntry])[1];
    const isLabelled = entries.some(([, [, , reason]]) => reason !== undefined);
    new Counter({
      name: `leadsman_${owner}_${name}`,
      help,
      ...(isLabelled && { labelNames: ['reason'] }),
      registers: [registry],
      collect() {
        this.reset();
        const counted = read();
        for (const [key, [, , reason]] of entries) {
          const value = counted?.[key] ?? 0;
          if (reason === undefined) this.inc(value);
          else this.inc({ reason }, value);
        }
      },
    });
  }
}
