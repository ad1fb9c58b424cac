/**
 * Whatever comes in whatever order, while the sink takes all: no report waits for longer than the
 * window, no two batches but keyframes are closer than it, and keyframes are not further apart than
 * they may be. Flushing more often than asked for changes nothing of that.
 */
import { frameBytesMax, frameKind, recordType } from '@leadsman/wire';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Batcher } from './batcher.ts';
import { batchBoundsDefault } from './bounds.ts';
import { Collected, frameOf, goneOf, reportFrame } from './frames.fixture.ts';

const uid = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('report' as const),
      uid,
      // Now and then one that is known already.
      isNew: fc.integer({ max: 4, min: 0 }).map((draw) => draw > 0),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('gone' as const), uid }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('flush' as const) }) },
);
const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 12 }), step), { maxLength: 150 });
/** Pauses in which targets expire. */
const gapMs = fc.constantFrom(0, 0, 0, 700, 6_000);

it('holds no report longer than a window, and sends no two batches within one', () => {
  const { windowMs, keyframeMs } = batchBoundsDefault;
  fc.assert(
    fc.property(steps, gapMs, (all, pauseMs) => {
      let nowMs = 0;
      /** When the reports came that wait. */
      const waiting = new Map<string, number>();
      const got = new Collected();
      const sink = {
        connected: true,
        frameBytesMax,
        send(frame: Uint8Array) {
          got.add(frame);
          return true;
        },
      };
      const sender = { id: new Uint8Array(16), epoch: 1 };
      const batcher = new Batcher({ sender, sink, nowMs });
      let sentMs = Number.NEGATIVE_INFINITY;
      let keyframeSentMs = 0;
      const flush = () => {
        got.frames.length = 0;
        batcher.flush(nowMs);
        const [frame] = got.frames;
        if (frame === undefined) return;
        if (frame.kind === frameKind.keyframe) {
          expect(nowMs - keyframeSentMs).toBeLessThanOrEqual(keyframeMs);
          keyframeSentMs = nowMs;
        } else {
          expect(frame.records).toBeGreaterThan(0);
          expect(nowMs - sentMs).toBeGreaterThanOrEqual(windowMs);
        }
        sentMs = nowMs;
        for (const cameMs of waiting.values()) {
          expect(nowMs - cameMs).toBeLessThanOrEqual(windowMs);
        }
        waiting.clear();
      };
      /** Lets the time pass as a timer would that is never late. */
      const passTo = (untilMs: number) => {
        for (let dueMs = batcher.dueMs(); dueMs <= untilMs; dueMs = batcher.dueMs()) {
          nowMs = Math.max(nowMs, dueMs);
          flush();
        }
        nowMs = untilMs;
      };
      let seq = 1;
      for (const [i, [ms, action]] of all.entries()) {
        passTo(nowMs + ms + (i === 75 ? pauseMs : 0));
        if (action.kind === 'flush') flush();
        else if (action.kind === 'gone') {
          batcher.take(frameOf([recordType.gone, goneOf(action.uid, ++seq)]), undefined, nowMs);
          waiting.delete(action.uid);
        } else {
          if (action.isNew) seq++;
          const { repeated } = batcher.counters;
          batcher.take(reportFrame({ uid: action.uid, seq }), undefined, nowMs);
          const isNews = batcher.counters.repeated === repeated;
          if (isNews && !waiting.has(action.uid)) waiting.set(action.uid, nowMs);
        }
      }
      passTo(nowMs + windowMs);
      expect(waiting.size).toBe(0);
    }),
    { numRuns: 300 },
  );
});
