import { createNatsCounters } from '@leadsman/link';
import { feedState } from '@leadsman/view/layout';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createIngestCounters } from '../ingest/counters.ts';
import type { CollectorSnapshot } from './collector-core.ts';
import { registerCollectorMetrics } from './metrics.ts';

const natsCounters = {
  ...createNatsCounters(),
  connects: 9,
  reconnects: 8,
  disconnects: 8,
  permissionErrors: 9,
};

const snapshot: CollectorSnapshot = {
  ingest: { ...createIngestCounters(), frames: 7, olderReports: 3 },
  endpoints: 2,
  endpointsMax: 64,
  senders: 1,
  notes: 0,
  feed: feedState.synced,
  tornSlots: 1,
  nats: { connected: true, roundTripMs: 3, counters: natsCounters },
  direct: { streams: 4, refusedStreams: 5, refusedTokens: 0, failedStreams: 6 },
  remote: undefined,
};

test('what a collector refused or lost is on its metrics page', async () => {
  const registry = new Registry();
  registerCollectorMetrics(registry, () => snapshot);
  const text = await registry.metrics();
  expect(text).toContain('leadsman_collector_frames_total 7');
  expect(text).toContain('leadsman_collector_reports_total{result="older"} 3');
  expect(text).toContain('leadsman_collector_torn_slots 1');
  expect(text).toContain('leadsman_collector_nats_disconnects_total 8');
  expect(text).toContain('leadsman_collector_nats_permission_errors_total 9');
  expect(text).toContain('leadsman_collector_direct_streams 4');
  expect(text).toContain('leadsman_collector_direct_streams_refused_total 5');
  expect(text).toContain('leadsman_collector_direct_streams_failed_total 6');
});

test('a collector that has said nothing yet has no gauges, rather than zeros', async () => {
  const registry = new Registry();
  registerCollectorMetrics(registry, () => undefined);
  const text = await registry.metrics();
  expect(text).not.toMatch(/^leadsman_collector_endpoints /m);
});
