import { createView, feedState } from '@leadsman/view/layout';
import { ViewWriter } from '@leadsman/view/writer';
import { podKeyFromUid, podKeyText } from '@leadsman/wire';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { FrameIngest } from '../ingest/frame-ingest.ts';
import { attributesRecord, goneRecord, reportRecord, SampleSender } from '../sample-frame.ts';
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
});

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

test('a pod that comes back under its name has series of its own while the former one expires', async () => {
  let nowMs = 0;
  const view = createView({ slotsMax: 4 });
  const ingest = new FrameIngest({ writer: new ViewWriter(view), nowMs });
  const registry = new Registry();
  registerEndpointMetrics(registry, { view, staleAfterMs: 2_000, nowMs: () => nowMs });
  const sender = new SampleSender();
  const report = (uid: string, value: number, seq = 1) =>
    ingest.receive(
      sender.frame([
        reportRecord({ uid, seq, value }),
        attributesRecord({ uid, podName: 'engine-0' }),
      ]),
      nowMs,
    );
  /** Value of each series of a metric, by the first letters of its UID. */
  const shown = async (name: string) => {
    const text = await registry.metrics();
    const found = text.matchAll(new RegExp(`^leadsman_endpoint_${name}{(.*)} (\\S+)$`, 'gm'));
    return Object.fromEntries(
      [...found].map(([, labels = '', value]) => {
        expect(labels).toContain('pod="engine-0"');
        return [/uid="([^"]+)"/.exec(labels)?.[1], Number(value)];
      }),
    );
  };
  const [former, present] = ['former', 'present'].map((uid) => podKeyText(podKeyFromUid(uid)));
  report('former', 7);
  nowMs = 50;
  ingest.tick(nowMs, feedState.synced);
  report('present', 2);
  expect(await shown('running_requests')).toEqual({ [former!]: 7, [present!]: 2 });
  expect(await shown('age_seconds')).toEqual({ [former!]: 0.05, [present!]: 0 });
  const withdrawal = sender.frame([goneRecord({ uid: 'former', seq: 2 })]);
  ingest.receive(withdrawal, nowMs);
  expect(await shown('running_requests')).toEqual({ [present!]: 2 });
  // The bound: one series per metric and used slot, whoever was there before.
  for (let i = 0; i < 100; i++) {
    report(`next-${i}`, 1);
    expect(Object.keys(await shown('state')).length).toBe(2);
    ingest.receive(sender.frame([goneRecord({ uid: `next-${i}`, seq: 2 })]), nowMs);
  }
});
