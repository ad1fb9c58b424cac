/** Metrics of a NATS link, read from its counters when a scrape asks. */
import { registerCounterList } from '@leadsman/service';
import { Gauge, type Registry } from 'prom-client';
import { natsCounterList } from './counters.ts';
import type { NatsLink } from './link.ts';

/** Registers `leadsman_<process>_nats_…`. */
export function registerNatsMetrics(registry: Registry, process: string, link: NatsLink): void {
  const owner = `${process}_nats`;
  const registers = [registry];
  registerCounterList(registry, owner, natsCounterList, () => link.counters);
  new Gauge({
    name: `leadsman_${owner}_connected`,
    help: '1 while there is a connection.',
    registers,
    collect() {
      this.set(link.connected ? 1 : 0);
    },
  });
  new Gauge({
    name: `leadsman_${owner}_round_trip_seconds`,
    help: 'Round trip of the latest ping; NaN before the first.',
    registers,
    collect() {
      this.set(link.roundTripMs / 1_000);
    },
  });
}
