/** Counters that a transport keeps as plain numbers, shown on `/metrics` when a scrape asks. */
import { Counter, type Registry } from 'prom-client';

export interface CountedMetrics<Key> {
  /** First part of every name: `leadsman_<process>_<transport>`. */
  prefix: string;
  /** Key, rest of the name, help. */
  counters: readonly (readonly [Key, string, string])[];
  /** Key and value of the label `reason` of `<prefix>_dropped_total`. */
  drops: readonly (readonly [Key, string])[];
  dropsHelp: string;
  read(key: Key): number;
}

/** Registers one counter per entry, and one for all drops. */
export function registerCounted<Key>(registry: Registry, metrics: CountedMetrics<Key>): void {
  const { prefix, read } = metrics;
  const registers = [registry];
  for (const [key, name, help] of metrics.counters) {
    new Counter({
      name: `${prefix}_${name}`,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(read(key));
      },
    });
  }
  new Counter({
    name: `${prefix}_dropped_total`,
    help: metrics.dropsHelp,
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset();
      for (const [key, reason] of metrics.drops) this.inc({ reason }, read(key));
    },
  });
}
