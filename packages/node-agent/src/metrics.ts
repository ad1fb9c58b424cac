/** Metrics of the agent's batching, read from its counters when a scrape asks. */
import type { FrameStreamServer } from '@leadsman/link';
import { registerReadCounters } from '@leadsman/service';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Batcher } from './batch/batcher.ts';
import type { BatchCounters } from './batch/counters.ts';

const counters: readonly [keyof BatchCounters, string, string][] = [
  ['frames', 'frames_total', 'Frames taken from sidecars.'],
  ['reports', 'reports_total', 'Reports in them.'],
  ['repeated', 'repeated_records_total', 'Records not newer than what was known.'],
  ['collapsed', 'collapsed_records_total', 'Records replaced by a newer one before being sent.'],
  ['expiredTargets', 'expired_targets_total', 'Targets forgotten, as their senders fell silent.'],
  ['batches', 'batches_total', 'Frames sent on.'],
  ['batchBytes', 'batch_bytes_total', 'Bytes of the frames sent on.'],
  ['batchReports', 'batch_reports_total', 'Reports in the frames sent on.'],
  ['keyframes', 'keyframes_total', 'Keyframes sent on.'],
  ['unsent', 'unsent_batches_total', 'Frames that could not leave; their content waits.'],
  ['oversized', 'oversized_records_total', 'Records larger than what the way onward takes.'],
];

const refusals: readonly [keyof BatchCounters, string][] = [
  ['refusedFrames', 'bad_frame'],
  ['refusedPeers', 'wrong_peer'],
  ['refusedForeign', 'foreign_pod'],
  ['refusedTargets', 'full'],
  ['refusedStalled', 'stalled'],
];

export function registerBatchMetrics(registry: Registry, batcher: Batcher): void {
  const registers = [registry];
  registerReadCounters(
    registry,
    'node_agent',
    counters.map(([key, name, help]) => [name, help, () => batcher.counters[key]] as const),
  );
  new Counter({
    name: 'leadsman_node_agent_refused_frames_total',
    help: 'Frames refused whole, by why.',
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset();
      for (const [key, reason] of refusals) this.inc({ reason }, batcher.counters[key]);
    },
  });
  new Gauge({
    name: 'leadsman_node_agent_targets',
    help: 'Targets known now.',
    registers,
    collect() {
      this.set(batcher.targets.size);
    },
  });
}

/** What the sidecars' streams are doing. */
export function registerStreamMetrics(registry: Registry, streams: FrameStreamServer): void {
  registerReadCounters(registry, 'node_agent', [
    ['streams_refused_total', 'Streams refused, for want of room.', () => streams.refusedStreams],
    ['streams_failed_total', 'Streams ended: silent, or no frames.', () => streams.failedStreams],
  ]);
  new Gauge({
    name: 'leadsman_node_agent_streams',
    help: 'Sidecars that are connected.',
    registers: [registry],
    collect() {
      this.set(streams.streams);
    },
  });
}
