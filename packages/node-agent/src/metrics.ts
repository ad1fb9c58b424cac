/** Metrics of the agent's batching, read from its counters when a scrape asks. */
import type { FrameStreamServer } from '@leadsman/link';
import { registerCounterList, registerReadCounters } from '@leadsman/service';
import { Gauge, type Registry } from 'prom-client';
import type { Batcher } from './batch/batcher.ts';
import { batchCounterList } from './batch/counters.ts';

export function registerBatchMetrics(registry: Registry, batcher: Batcher): void {
  const registers = [registry];
  registerCounterList(registry, 'node_agent', batchCounterList, () => batcher.counters);
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
