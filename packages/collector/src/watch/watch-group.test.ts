import { EventEmitter } from 'node:events';
import type { WatchCall } from '@leadsman/link';
import { createView } from '@leadsman/view/layout';
import { ViewReader } from '@leadsman/view/reader';
import { ViewWriter } from '@leadsman/view/writer';
import { podKeyFromUid, podKeyText } from '@leadsman/wire';
import { expect, test } from 'vitest';
import { FrameIngest } from '../ingest/frame-ingest.ts';
import { goneRecord, reportRecord, SampleSender } from '../sample-frame.ts';
import { Departures } from './departures.ts';
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

function setup(departuresMax = 64) {
  const view = createView({ slotsMax: 64 });
  const departures = new Departures(departuresMax);
  const ingest = new FrameIngest({ writer: new ViewWriter(view), nowMs: 0, departures });
  const counters = { frames: 0, frameBytes: 0, lags: 0, missedDepartures: 0 };
  const sender0 = { id: new Uint8Array(16), epoch: 1 };
  const group = new WatchGroup({ view, departures, sender: sender0, counters });
  const sender = new SampleSender();
  const add = () => {
    const call = new SampleCall();
    group.add(call as unknown as WatchCall);
    return call;
  };
  const report = (uid: string, seq: number) =>
    ingest.receive(sender.frame([reportRecord({ uid, seq })]), 0);
  const gone = (uid: string, seq: number, nowMs = 0) =>
    ingest.receive(sender.frame([goneRecord({ uid, seq })]), nowMs);
  return { ingest, counters, group, sender, add, report, gone };
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

test('a watcher that was slow is told who left meanwhile as soon as it has caught up', () => {
  const { group, add, report, gone } = setup();
  const slow = add();
  for (const uid of ['pod-a', 'pod-b', 'pod-c', 'pod-d']) report(uid, 1);
  group.tick(0);
  slow.writableLength = 1;
  gone('pod-a', 2);
  group.tick(10);
  // One slot is used again, by an endpoint that leaves as well, and then by another.
  report('pod-e', 1);
  group.tick(20);
  gone('pod-e', 2);
  gone('pod-b', 2);
  report('pod-f', 1);
  // One left and is back.
  gone('pod-c', 2);
  report('pod-c', 3);
  group.tick(30);
  expect([slow.seq('pod-a'), slow.seq('pod-b')]).toEqual([1, 1]);
  slow.writableLength = 0;
  group.tick(40);
  const seqs = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => slow.seq(`pod-${name}`));
  expect(seqs).toEqual([0, 0, 3, 1, 0, 1]);
});

test('who left is told with the order of the withdrawal, above what this replica had seen', () => {
  const { group, add, report, gone } = setup();
  const call = add();
  report('pod-a', 40);
  group.tick(0);
  // The watcher knows more, from another replica.
  call.ingest.receive(new SampleSender(7).frame([reportRecord({ uid: 'pod-a', seq: 50 })]), 0);
  gone('pod-a', 51);
  group.tick(10);
  expect(call.seq('pod-a')).toBe(0);
});

test('a newcomer is told who left lately, and keeps what is merely unknown here', () => {
  const { group, add, report, gone } = setup();
  report('pod-old', 1);
  gone('pod-old', 2, -60_001);
  report('pod-a', 1);
  gone('pod-a', 2, -59_990);
  gone('pod-never-seen', 7, -1);
  report('pod-b', 1);
  group.tick(0);
  const call = add();
  const pods = ['pod-old', 'pod-a', 'pod-never-seen', 'pod-other', 'pod-b'];
  // As another replica had told it.
  const known = pods.map((uid) => reportRecord({ uid, seq: uid === 'pod-never-seen' ? 6 : 1 }));
  call.ingest.receive(new SampleSender(7).frame(known), 0);
  group.tick(10);
  expect(pods.map((uid) => call.seq(uid))).toEqual([1, 0, 0, 1, 1]);
});

test('departures beyond the bound are counted by whoever missed them', () => {
  const { group, add, report, gone, counters } = setup(2);
  const slow = add();
  for (let i = 0; i < 5; i++) report(`pod-${i}`, 1);
  group.tick(0);
  slow.writableLength = 1;
  for (let i = 0; i < 5; i++) gone(`pod-${i}`, 2);
  group.tick(10);
  slow.writableLength = 0;
  group.tick(20);
  expect([0, 1, 2, 3, 4].map((i) => slow.seq(`pod-${i}`))).toEqual([1, 1, 1, 0, 0]);
  expect(counters.missedDepartures).toBe(3);
});
