/** Metrics of the direct transport's sender, read from its counters when a scrape asks. */
import { Counter, Gauge, type Registry } from 'prom-client';
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
  const prefix = `leadsman_${process}_push`;
  const registers = [registry];
  for (const [key, name, help] of counters) {
    new Counter({
      name: `${prefix}_${name}`,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(sink.counters[key]);
      },
    });
  }
  new Counter({
    name: `${prefix}_dropped_total`,
    help: 'Frames dropped, by why.',
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset();
      for (const [key, reason] of drops) this.inc({ reason }, sink.counters[key]);
    },
  });
  new Gauge({
    name: `${prefix}_streams`,
    help: 'Collectors that answer now.',
    registers,
    collect() {
      this.set(sink.openPeers);
    },
  });
}
