import {
  frameBytesMax,
  frameBytesMin,
  frameHeaderBytes,
  frameKind,
  podKeyFromUid,
  podKeyText,
  recordHeaderBytes,
  recordType,
  reportBytes,
} from '@leadsman/wire';
import { expect, it } from 'vitest';
import { Batcher } from './batcher.ts';
import type { BatchBounds } from './bounds.ts';
import {
  attributesOf,
  Collected,
  frameOf,
  goneOf,
  ranksOf,
  reportFrame,
  reportOf,
} from './frames.fixture.ts';

function setUp(bounds: Partial<BatchBounds> = {}) {
  const got = new Collected();
  const sink = {
    connected: true,
    frameBytesMax,
    takes: true,
    send(frame: Uint8Array): boolean {
      if (!this.takes) return false;
      got.add(frame);
      return true;
    },
  };
  const batcher = new Batcher({
    sender: { id: new Uint8Array(16).fill(1), epoch: 5 },
    sink,
    bounds,
    nowMs: 0,
  });
  // The first flush after a connection is always a keyframe.
  batcher.flush(0);
  got.frames.length = 0;
  return { batcher, sink, got };
}

it('sends at once when all targets have reported, then once per window', () => {
  const { batcher, got } = setUp();
  batcher.take(reportFrame({ uid: 'a', seq: 1 }), undefined, 100);
  expect(batcher.dueMs()).toBeLessThanOrEqual(100);
  batcher.flush(100);
  batcher.take(reportFrame({ uid: 'a', seq: 2 }), undefined, 103);
  expect(batcher.dueMs()).toBe(110);
  batcher.flush(105);
  expect(got.frames).toHaveLength(1);
  batcher.flush(110);
  expect(got.report('a')?.seq).toBe(2);
  expect(got.frames).toHaveLength(2);
});

it('sends the reports of targets that scrape together in one batch', () => {
  const { batcher, got } = setUp();
  const uids = ['a', 'b', 'c', 'd'];
  const reportAt = (uid: string, seq: number, nowMs: number) =>
    batcher.take(reportFrame({ uid, seq }), undefined, nowMs);
  uids.forEach((uid, i) => void reportAt(uid, 1, 100 + i));
  batcher.flush(120);
  got.frames.length = 0;
  reportAt('a', 2, 150);
  expect(batcher.dueMs()).toBe(153);
  reportAt('b', 2, 151.5);
  expect(batcher.dueMs()).toBe(154.5);
  reportAt('c', 2, 154);
  batcher.flush(154);
  expect(got.frames).toHaveLength(0);
  reportAt('d', 2, 155);
  batcher.flush(155);
  expect(got.frames).toMatchObject([{ records: 4, kind: frameKind.changes }]);
});

it('does not wait for the last of them longer than the window', () => {
  const { batcher } = setUp();
  for (const uid of ['a', 'b', 'c']) {
    batcher.take(reportFrame({ uid, seq: 1 }), undefined, 100);
  }
  batcher.flush(100);
  for (let seq = 2; seq < 20; seq++) {
    batcher.take(reportFrame({ uid: seq % 2 === 0 ? 'a' : 'b', seq }), undefined, 148 + seq);
  }
  expect(batcher.dueMs()).toBe(160);
});

it('waits for no report of a target that ended', () => {
  const { batcher } = setUp();
  for (const uid of ['a', 'b']) batcher.take(reportFrame({ uid, seq: 1 }), undefined, 100);
  batcher.take(frameOf([recordType.gone, goneOf('b', 2)]), undefined, 100);
  batcher.flush(120);
  batcher.take(reportFrame({ uid: 'a', seq: 2 }), undefined, 150);
  expect(batcher.dueMs()).toBeLessThanOrEqual(150);
  batcher.flush(150);
  batcher.take(reportFrame({ uid: 'b', seq: 3 }), undefined, 170);
  batcher.flush(180);
  batcher.take(reportFrame({ uid: 'a', seq: 3 }), undefined, 200);
  expect(batcher.dueMs()).toBe(203);
});

it('wakes for news only, and sends nothing for a repetition', () => {
  const { batcher, got } = setUp();
  batcher.take(reportFrame({ uid: 'a', seq: 1 }), undefined, 100);
  batcher.flush(100);
  batcher.take(reportFrame({ uid: 'a', seq: 1 }), undefined, 150);
  expect(batcher.dueMs()).toBe(1_000);
  expect(got.frames).toHaveLength(1);
});

it('makes a batch a keyframe when one is due soon', () => {
  const { batcher, got } = setUp();
  batcher.take(reportFrame({ uid: 'a', seq: 1 }), undefined, 100);
  batcher.flush(100);
  batcher.take(reportFrame({ uid: 'a', seq: 2 }), undefined, 960);
  batcher.flush(960);
  expect(got.frames.map((frame) => frame.kind)).toEqual([frameKind.changes, frameKind.keyframe]);
  expect(batcher.dueMs()).toBe(1_960);
});

it('collapses several reports of one pod to the newest, and adds the time it held it', () => {
  const { batcher, got } = setUp();
  batcher.flush(1);
  for (const [seq, nowMs] of [
    [1, 2],
    [2, 4],
    [3, 6],
  ] as const) {
    batcher.take(reportFrame({ uid: 'a', seq, ageMs: 1.5 }), undefined, nowMs);
  }
  batcher.flush(12);
  expect(got.frames).toMatchObject([{ records: 1, kind: frameKind.changes }]);
  expect(got.report('a')).toEqual({ epoch: 1, seq: 3, ageMs: 7.5 });
  expect(batcher.counters.collapsed).toBe(2);
});

it('keeps the highest (epoch, seq), whatever order reports come in', () => {
  const { batcher, got } = setUp();
  for (const seq of [11, 12, 12, 10, 20]) {
    batcher.take(reportFrame({ uid: 'a', seq }), undefined, 10);
  }
  batcher.flush(20);
  expect(got.report('a')?.seq).toBe(20);
  expect(batcher.counters.repeated).toBe(2);
  batcher.take(reportFrame({ uid: 'a', epoch: 2, seq: 1 }), undefined, 30);
  batcher.flush(40);
  expect(got.report('a')).toMatchObject({ epoch: 2, seq: 1 });
});

it('follows a sidecar that restarted on a clock set back, after three silent seconds', () => {
  const { batcher } = setUp();
  batcher.take(reportFrame({ uid: 'a', epoch: 9, seq: 1 }), undefined, 0);
  batcher.take(reportFrame({ uid: 'a', epoch: 3, seq: 1 }), undefined, 2_900);
  const [target] = batcher.targets.values();
  expect(target?.reportOrder.epoch).toBe(9);
  batcher.take(reportFrame({ uid: 'a', epoch: 3, seq: 2 }), undefined, 3_000);
  expect(target?.reportOrder.epoch).toBe(3);
});

it.each([-600_000, 600_000])('is not misled by a sidecar clock that is %i ms off', (offMs) => {
  const { batcher, got } = setUp();
  const epoch = Date.now() + offMs;
  batcher.take(reportFrame({ uid: 'a', epoch, seq: 1, ageMs: 3 }), undefined, 100);
  batcher.flush(104);
  expect(got.report('a')).toEqual({ epoch, seq: 1, ageMs: 7 });
});

it('repeats all it knows each second', () => {
  const { batcher, got } = setUp();
  const attributes = attributesOf('a', 1);
  batcher.take(
    frameOf(
      [recordType.report, reportOf({ uid: 'a', seq: 1 })],
      [recordType.attributes, attributes],
      [recordType.ranks, ranksOf('a', 1)],
    ),
    undefined,
    10,
  );
  batcher.flush(20);
  expect(batcher.dueMs()).toBe(1_000);
  batcher.flush(1_000);
  expect(got.frames).toMatchObject([
    { kind: frameKind.changes, records: 3 },
    { kind: frameKind.keyframe, records: 3, part: 0, parts: 1 },
  ]);
  expect(got.report('a')?.ageMs).toBe(990);
  expect(got.attributes.get(podKeyText(podKeyFromUid('a')))).toBe(1);
});

it('splits a keyframe by what the sink takes, with part numbers', () => {
  const { batcher, sink, got } = setUp();
  for (let i = 0; i < 10; i++) {
    batcher.take(reportFrame({ uid: `p${i}`, seq: 1 }), undefined, 10);
  }
  sink.frameBytesMax = frameHeaderBytes + 3 * (recordHeaderBytes + reportBytes);
  batcher.flush(1_000);
  expect(got.frames.map(({ part, parts, records }) => [part, parts, records])).toEqual([
    [0, 4, 3],
    [1, 4, 3],
    [2, 4, 3],
    [3, 4, 1],
  ]);
  expect(got.reports.size).toBe(10);
  // The frames of a resized writer are counted from 1, under a new epoch.
  expect(got.frames.map((frame) => frame.seq)).toEqual([1, 2, 3, 4]);
});

it('goes on when the sink takes less than one report', () => {
  const { batcher, sink, got } = setUp();
  batcher.take(reportFrame({ uid: 'a', seq: 1 }), undefined, 10);
  sink.frameBytesMax = 200;
  sink.takes = false;
  batcher.flush(20);
  expect(batcher.counters.unsent).toBe(1);
  sink.frameBytesMax = frameBytesMax;
  sink.takes = true;
  batcher.flush(1_000);
  expect(got.report('a')?.seq).toBe(1);
});

it('drops and counts a record that can never fit', () => {
  const { batcher, sink, got } = setUp();
  const wide = attributesOf(
    'a',
    1,
    Array.from({ length: 3 }, (_, i) => `${i}`.repeat(300)),
  );
  batcher.take(
    frameOf([recordType.report, reportOf({ uid: 'a', seq: 1 })], [recordType.attributes, wide]),
    undefined,
    10,
  );
  sink.frameBytesMax = frameBytesMin;
  batcher.flush(20);
  expect(got.report('a')?.seq).toBe(1);
  expect(batcher.counters.oversized).toBe(1);
  expect(batcher.dueMs()).toBe(1_000);
});

it('keeps only the newest while the sink takes nothing, then tells everything', () => {
  const { batcher, sink, got } = setUp();
  sink.takes = false;
  for (let seq = 1; seq <= 40; seq++) {
    batcher.take(reportFrame({ uid: 'a', seq }), undefined, seq * 50);
    batcher.flush(seq * 50);
  }
  expect(got.frames).toHaveLength(0);
  sink.takes = true;
  batcher.flush(2_100);
  expect(got.frames).toMatchObject([{ kind: frameKind.keyframe, records: 1 }]);
  expect(got.report('a')).toMatchObject({ seq: 40, ageMs: 100 });
});

it('sends a keyframe as soon as there is a connection again', () => {
  const { batcher, sink, got } = setUp();
  batcher.take(reportFrame({ uid: 'a', seq: 1 }), undefined, 10);
  batcher.flush(20);
  sink.connected = false;
  batcher.take(reportFrame({ uid: 'a', seq: 2 }), undefined, 30);
  batcher.flush(40);
  sink.connected = true;
  batcher.flush(batcher.dueMs());
  expect(got.frames.at(-1)).toMatchObject({ kind: frameKind.keyframe });
  expect(got.report('a')?.seq).toBe(2);
});

it('forgets silent targets, and says nothing about them', () => {
  const { batcher, got } = setUp();
  batcher.take(reportFrame({ uid: 'a', seq: 1 }), undefined, 10);
  batcher.take(reportFrame({ uid: 'b', seq: 1 }), undefined, 3_000);
  batcher.flush(3_000);
  batcher.flush(5_100);
  expect([...batcher.targets.values()].map((target) => target.port)).toEqual([8000]);
  expect(got.frames.at(-1)).toMatchObject({ kind: frameKind.keyframe, records: 1 });
  expect(got.gone.size).toBe(0);
  expect(batcher.counters.expiredTargets).toBe(1);
});

it('forgets them without a connection too, so that there is room for others', () => {
  const { batcher, sink } = setUp({ targetsMax: 1 });
  batcher.take(reportFrame({ uid: 'a', seq: 1 }), undefined, 10);
  sink.connected = false;
  batcher.flush(6_000);
  expect(batcher.take(reportFrame({ uid: 'b', seq: 1 }), undefined, 6_010).status).toBe('taken');
});

it('passes on that a target ended, and repeats no report of it', () => {
  const { batcher, got } = setUp();
  batcher.take(reportFrame({ uid: 'a', seq: 1 }), undefined, 10);
  batcher.take(frameOf([recordType.gone, goneOf('a', 2)]), undefined, 11);
  batcher.flush(20);
  expect(got.frames).toMatchObject([{ records: 1 }]);
  expect([...got.gone.values()]).toEqual([2]);
  batcher.take(reportFrame({ uid: 'a', seq: 3 }), undefined, 30);
  batcher.flush(40);
  expect(got.report('a')?.seq).toBe(3);
});

it('is bounded in targets, and refuses a frame that would not fit whole', () => {
  const { batcher } = setUp({ targetsMax: 1 });
  const two = frameOf(
    [recordType.report, reportOf({ uid: 'a', seq: 1 })],
    [recordType.report, reportOf({ uid: 'b', seq: 1 })],
  );
  expect(batcher.take(two, undefined, 0)).toEqual({ status: 'full' });
  expect(batcher.targets.size).toBe(0);
  batcher.take(reportFrame({ uid: 'a', seq: 1 }), undefined, 0);
  expect(batcher.take(reportFrame({ uid: 'b', seq: 1 }), undefined, 0).status).toBe('full');
  expect(batcher.take(reportFrame({ uid: 'a', seq: 2 }), undefined, 0).status).toBe('taken');
});

it('refuses bytes that are no frame, with the reason', () => {
  const { batcher } = setUp();
  const result = batcher.take(Uint8Array.of(1, 2, 3), undefined, 0);
  expect(result).toEqual({ status: 'bad_frame', code: 'truncated' });
});
