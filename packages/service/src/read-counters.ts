/**
 * Counters that are kept as plain numbers where things happen, and read when a scrape asks: hot
 * paths then pay for an addition, not for a metrics library.
 */
import { Counter, type Registry } from 'prom-client';

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
