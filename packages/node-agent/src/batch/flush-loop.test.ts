import { frameBytesMax, frameKind } from '@leadsman/wire';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Batcher } from './batcher.ts';
import { FlushLoop } from './flush-loop.ts';
import { Collected, reportFrame } from './frames.fixture.ts';

let got: Collected;
let batcher: Batcher;
let loop: FlushLoop;
const nowMs = () => performance.now();

beforeEach(() => {
  vi.useFakeTimers();
  got = new Collected();
  const sink = {
    connected: true,
    frameBytesMax,
    send(frame: Uint8Array): boolean {
      got.add(frame);
      return true;
    },
  };
  const sender = { id: new Uint8Array(16).fill(1), epoch: 5 };
  batcher = new Batcher({ sender, sink, nowMs: nowMs() });
  loop = new FlushLoop(batcher, nowMs);
  for (const uid of ['a', 'b', 'c']) report(uid, 1);
  vi.advanceTimersByTime(500);
  got.frames.length = 0;
});

afterEach(() => {
  loop.stop();
  vi.useRealTimers();
});

function report(uid: string, seq: number): void {
  batcher.take(reportFrame({ uid, seq }), undefined, nowMs());
  loop.wake();
}

it('waits for the end of a burst, which moves while reports come', () => {
  report('a', 2);
  vi.advanceTimersByTime(2);
  report('b', 2);
  vi.advanceTimersByTime(2);
  expect(got.frames).toHaveLength(0);
  vi.advanceTimersByTime(2);
  expect(got.frames).toMatchObject([{ kind: frameKind.changes, records: 2 }]);
});

it('sends in the turn in which the last target reports', () => {
  for (const uid of ['a', 'b', 'c']) report(uid, 2);
  vi.advanceTimersByTime(0);
  expect(got.frames).toMatchObject([{ kind: frameKind.changes, records: 3 }]);
});

it('sends what waits when it ends, and nothing later', () => {
  report('a', 2);
  loop.stop();
  expect(got.frames).toMatchObject([{ kind: frameKind.changes, records: 1 }]);
  vi.advanceTimersByTime(5_000);
  expect(got.frames).toHaveLength(1);
});

it('goes on with keyframes while nothing comes', () => {
  vi.advanceTimersByTime(2_000);
  expect(got.frames.filter((frame) => frame.kind === frameKind.keyframe)).toHaveLength(2);
});
