/** Metrics of the direct transport's sender, read from its counters when a scrape asks. */
import { registerCounterList } from '@leadsman/service';
import { Gauge, type Registry } from 'prom-client';
import { pushCounterList } from './push-counters.ts';
import type { GrpcSink } from './push-sink.ts';

/** Registers `leadsman_<process>_push_…`. */
export function registerPushMetrics(registry: Registry, process: string, sink: GrpcSink): void {
  const owner = `${process}_push`;
  const registers = [registry];
  registerCounterList(registry, owner, pushCounterList, () => sink.counters);
  new Gauge({
    name: `leadsman_${owner}_streams`,
    help: 'Collectors that answer now.',
    registers,
    collect() {
      this.set(sink.openPeers);
    },
  });
}
