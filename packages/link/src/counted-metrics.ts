/** Counters that a transport keeps as plain numbers, shown on `/metrics` when a scrape asks. */
import { registerReadCounters } from '@leadsman/service';
import { Counter, type Registry } from 'prom-client';

export interface CountedMetrics<Key> {
  /** Process and transport, `<process>_<transport>`: begins every name, after `leadsman_`. */
  owner: string;
  /** Key, rest of the name, help. */
  counters: readonly (readonly [Key, string, string])[];
  /** Key and value of the label `reason` of `…_dropped_total`. */
  drops: readonly (readonly [Key, string])[];
  dropsHelp: string;
  read(key: Key): number;
}

/** Registers one counter per entry, and one for all drops. */
export function registerCounted<Key>(registry: Registry, metrics: CountedMetrics<Key>): void {
  const { owner, read } = metrics;
  const counters = metrics.counters.map(
    ([key, name, help]) => [name, help, () => read(key)] as const,
  );
  registerReadCounters(registry, owner, counters);
  new Counter({
    name: `leadsman_${owner}_dropped_total`,
    help: metrics.dropsHelp,
    labelNames: ['reason'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [key, reason] of metrics.drops) this.inc({ reason }, read(key));
    },
  });
}
