import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { FrameIngest } from '../ingest/frame-ingest.ts';
import { attributesRecord, reportRecord, SampleSender } from '../sample-frame.ts';
import { createView, feedState } from '../view/layout.ts';
import { ViewWriter } from '../view/view-writer.ts';
import { registerEndpointMetrics } from './endpoint-metrics.ts';

test('series of 5,000 short-lived pods are gone within a minute of their last report', async () => {
  let nowMs = 0;
  const view = createView({ slotsMax: 8_192 });
  const ingest = new FrameIngest({ writer: new ViewWriter(view), nowMs });
  const registry = new Registry();
  registerEndpointMetrics(registry, { view, staleAfterMs: 2_000, nowMs: () => nowMs });
  const series = async () =>
    (await registry.metrics()).split('\n').filter((line) => /^[a-z]/.test(line)).length;
  const sender = new SampleSender();
  expect(await series()).toBe(0);
  for (let from = 0; from < 5_000; from += 500) {
    const records = Array.from({ length: 500 }, (_, i) => `short-${from + i}`).flatMap((uid) => [
      reportRecord({ uid }),
      attributesRecord({ uid, podName: uid }),
    ]);
    ingest.receive(sender.frame(records), nowMs);
  }
  // Four numbers, the age and the state of each.
  expect(await series()).toBe(5_000 * 6);
  while (nowMs < 60_000) {
    nowMs += 100;
    ingest.tick(nowMs, feedState.synced);
  }
  expect(await series()).toBe(0);
}); // C41

test('a number that is unknown has no sample, and a pod without a name goes by its UID', async () => {
  const view = createView({ slotsMax: 4 });
  const ingest = new FrameIngest({ writer: new ViewWriter(view), nowMs: 0 });
  const registry = new Registry();
  registerEndpointMetrics(registry, { view, staleAfterMs: 2_000, nowMs: () => 0 });
  ingest.receive(new SampleSender().frame([reportRecord({ value: Number.NaN })]), 0);
  const text = await registry.metrics();
  expect(text).not.toContain('leadsman_endpoint_running_requests{');
  expect(text).toMatch(/leadsman_endpoint_state\{.*pod="[0-9a-f-]{36}".*state="unknown"\} 1/);
});
