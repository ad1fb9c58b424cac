/** Metrics of the direct transport's sender, read from its counters when a scrape asks. */
import { Gauge, type Registry } from 'prom-client';
import { registerCounted } from '../counted-metrics.ts';
import type { PushCounters } from './push-peer.ts';
import type { GrpcSink } from './push-sink.ts';

const counters: readonly [keyof PushCounters, string, string][] = [
  ['sent', 'sent_frames_total', 'Frames given to streams, one count per collector.'],
  ['sentBytes', 'sent_bytes_total', 'Their bytes.'],
  ['reconnects', 'reconnects_total', 'Streams that ended and were made again.'],
  ['connectErrors', 'connect_errors_total', 'Attempts at a stream that failed.'],
];

const drops: readonly [keyof PushCounters, string][] = [
  ['droppedOffline', 'offline'],
  ['droppedStalled', 'stalled'],
];

/** Registers `leadsman_<process>_push_…`. */
export function registerPushMetrics(registry: Registry, process: string, sink: GrpcSink): void {
  const owner = `${process}_push`;
  const registers = [registry];
  registerCounted(registry, {
    owner,
    counters,
    drops,
    dropsHelp: 'Frames dropped, by why.',
    read: (key) => sink.counters[key],
  });
  new Gauge({
    name: `leadsman_${owner}_streams`,
    help: 'Collectors that answer now.',
    registers,
    collect() {
      this.set(sink.openPeers);
    },
  });
}
