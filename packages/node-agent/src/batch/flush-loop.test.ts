import { frameBytesMax, frameKind } from '@leadsman/wire';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Batcher } from './batcher.ts';
import { batchBoundsDefault } from './bounds.ts';
import { FlushLoop } from './flush-loop.ts';
import { Collected, reportFrame } from './frames.fixture.ts';

let got: Collected;
let batcher: Batcher;
let loop: FlushLoop;
let nowMs: () => number;
let onSend: () => void;

/** `clockRate`: milliseconds of the loop's clock in one of the timers'; below 1, they fire early. */
function setUp(clockRate: number): void {
  nowMs = () => performance.now() * clockRate;
  got = new Collected();
  onSend = () => undefined;
  const sink = {
    connected: true,
    frameBytesMax,
    send(frame: Uint8Array): boolean {
      got.add(frame);
      onSend();
      return true;
    },
  };
  const sender = { id: new Uint8Array(16).fill(1), epoch: 5 };
  batcher = new Batcher({ sender, sink, nowMs: nowMs() });
  loop = new FlushLoop(batcher, nowMs);
}

beforeEach(() => {
  vi.useFakeTimers();
  setUp(1);
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

it('holds no report longer than a window, also when timers fire early', () => {
  const { windowMs } = batchBoundsDefault;
  const clockRate = fc.double({ min: 0.2, max: 1, noNaN: true });
  const uid = fc.constantFrom('a', 'b', 'c', 'd');
  const reports = fc.array(fc.tuple(fc.integer({ min: 0, max: 15 }), uid), { maxLength: 40 });
  fc.assert(
    fc.property(clockRate, reports, (rate, all) => {
      loop.stop();
      setUp(rate);
      /** When the reports came that wait; a batch takes all of them along. */
      const waiting = new Map<string, number>();
      onSend = () => {
        // A timer is up to one of its own milliseconds late.
        const boundMs = windowMs + rate + 1e-6;
        for (const cameMs of waiting.values()) expect(nowMs() - cameMs).toBeLessThan(boundMs);
        waiting.clear();
      };
      for (const [i, [ms, to]] of all.entries()) {
        vi.advanceTimersByTime(ms);
        if (!waiting.has(to)) waiting.set(to, nowMs());
        report(to, i + 1);
      }
      vi.advanceTimersByTime(Math.ceil(windowMs / rate) + 1);
      expect(waiting.size).toBe(0);
    }),
  );
});
