import { EventEmitter } from 'node:events';
import type { WatchCall } from '@leadsman/link';
import { podKeyFromUid, podKeyText } from '@leadsman/wire';
import { expect, test } from 'vitest';
import { FrameIngest } from '../ingest/frame-ingest.ts';
import { goneRecord, reportRecord, SampleSender } from '../sample-frame.ts';
import { createView } from '../view/layout.ts';
import { ViewReader } from '../view/view-reader.ts';
import { ViewWriter } from '../view/view-writer.ts';
import { WatchGroup } from './watch-group.ts';

/** A call whose frames stay under way for as long as the test says. */
class SampleCall extends EventEmitter {
  readonly view = createView({ slotsMax: 64 });
  readonly ingest = new FrameIngest({ writer: new ViewWriter(this.view), nowMs: 0 });
  readonly reader = new ViewReader(this.view);
  writableLength = 0;
  frames = 0;
  bytes = 0;

  write(frame: Uint8Array): boolean {
    this.frames++;
    this.bytes += frame.length;
    this.ingest.receive(frame, 0);
    return true;
  }

  seq(uid: string): number {
    this.reader.refresh();
    const slot = this.reader.slotOf(podKeyText(podKeyFromUid(uid)), 8000);
    return slot < 0 ? 0 : this.reader.seq(slot);
  }
}

function setup() {
  const view = createView({ slotsMax: 64 });
  const ingest = new FrameIngest({ writer: new ViewWriter(view), nowMs: 0 });
  const counters = { frames: 0, frameBytes: 0, lags: 0 };
  const group = new WatchGroup(view, { id: new Uint8Array(16), epoch: 1 }, counters);
  const sender = new SampleSender();
  const add = () => {
    const call = new SampleCall();
    group.add(call as unknown as WatchCall);
    return call;
  };
  const report = (uid: string, seq: number) =>
    ingest.receive(sender.frame([reportRecord({ uid, seq })]), 0);
  return { ingest, counters, group, sender, add, report };
}

test('a slow watcher is told the newest when it has caught up, and nothing in between', () => {
  const { group, add, report, counters } = setup();
  const slow = add();
  const quick = add();
  report('pod-a', 1);
  report('pod-b', 1);
  group.tick(0);
  slow.writableLength = 1;
  for (let seq = 2; seq <= 100; seq++) {
    report('pod-a', seq);
    group.tick(seq);
  }
  expect([slow.seq('pod-a'), quick.seq('pod-a')]).toEqual([1, 100]);
  expect(counters.lags).toBe(99);
  slow.writableLength = 0;
  const before = slow.bytes;
  group.tick(101);
  expect([slow.seq('pod-a'), slow.seq('pod-b')]).toEqual([100, 1]);
  expect(slow.bytes - before).toBeLessThan(400);
});

test('a keyframe that fell due while a watcher was slow is sent when it has caught up', () => {
  const { group, add, report } = setup();
  const slow = add();
  report('pod-a', 1);
  group.tick(0);
  slow.writableLength = 1;
  report('pod-b', 1);
  group.tick(1_000);
  slow.writableLength = 0;
  const fresh = slow.frames;
  group.tick(1_010);
  expect(slow.frames).toBe(fresh + 1);
  expect(slow.seq('pod-b')).toBe(1);
});

test('what others are told apart is no loss to those that keep up', () => {
  const { group, add, report } = setup();
  const steady = add();
  const slow = add();
  report('pod-a', 1);
  group.tick(0);
  slow.writableLength = 1;
  report('pod-a', 2);
  group.tick(10);
  slow.writableLength = 0;
  group.tick(20);
  const late = add();
  group.tick(30);
  for (let seq = 3; seq < 6; seq++) {
    report('pod-a', seq);
    group.tick(seq * 10 + 10);
  }
  expect(steady.ingest.counters).toMatchObject({ missingFrames: 0, duplicateFrames: 0 });
  expect(late.ingest.counters.missingFrames).toBe(0);
  expect([steady.seq('pod-a'), slow.seq('pod-a'), late.seq('pod-a')]).toEqual([5, 5, 5]);
});

test('a slot used again between two looks is told as one that left and one that came', () => {
  const { ingest, group, sender, add, report } = setup();
  const call = add();
  report('pod-a', 1);
  group.tick(0);
  ingest.receive(sender.frame([goneRecord({ uid: 'pod-a', seq: 2 })]), 0);
  report('pod-b', 1);
  group.tick(10);
  expect([call.seq('pod-a'), call.seq('pod-b')]).toEqual([0, 1]);
});

test('an empty view still shows life', () => {
  const { group, add } = setup();
  const call = add();
  group.tick(0);
  group.tick(500);
  group.tick(1_000);
  expect(call.frames).toBe(2);
});

test('the age a watcher sees includes the time the report was held', () => {
  const { ingest, group, sender, add } = setup();
  const call = add();
  ingest.receive(sender.frame([reportRecord({ ageMs: 40 })]), 100);
  group.tick(1_100);
  call.reader.refresh();
  // Received at 0 of this watcher's own clock.
  expect(call.reader.measuredAtMs(0)).toBe(-1_040);
});
