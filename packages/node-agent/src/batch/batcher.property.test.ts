/**
 * Whatever comes in whatever order, while the sink fails at will: a receiver ends with exactly the
 * newest (epoch, seq) of every target, no frame is larger than the sink takes, every keyframe's
 * parts are numbered without a hole, and no age is younger than the truth.
 */
import { frameHeaderBytes, frameKind, recordHeaderBytes, reportBytes } from '@leadsman/wire';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Batcher } from './batcher.ts';
import { Collected, reportFrame } from './frames.fixture.ts';

const step = fc.oneof(
  fc.record({
    kind: fc.constant('report' as const),
    uid: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    epoch: fc.integer({ min: 1, max: 3 }),
    seq: fc.integer({ min: 1, max: 9 }),
  }),
  fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 40 }) }),
  fc.record({
    kind: fc.constant('sink' as const),
    connected: fc.boolean(),
    takes: fc.boolean(),
    recordsMax: fc.integer({ min: 1, max: 6 }),
  }),
);

it('leaves every receiver at the newest report of every target', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const got = new Collected();
      let bytesMax = 4_096;
      const sink = {
        connected: true,
        takes: true,
        get frameBytesMax() {
          return bytesMax;
        },
        send(frame: Uint8Array) {
          expect(frame.length).toBeLessThanOrEqual(bytesMax);
          if (this.takes) got.add(frame);
          return this.takes;
        },
      };
      const batcher = new Batcher({
        sender: { id: new Uint8Array(16), epoch: 1 },
        sink,
        nowMs: 0,
      });
      const newest = new Map<string, [number, number]>();
      let nowMs = 0;
      for (const action of steps) {
        if (action.kind === 'report') {
          const { uid, epoch, seq } = action;
          batcher.take(reportFrame({ uid, epoch, seq }), undefined, nowMs);
          const [heldEpoch, heldSeq] = newest.get(uid) ?? [0, 0];
          if (epoch > heldEpoch || (epoch === heldEpoch && seq > heldSeq)) {
            newest.set(uid, [epoch, seq]);
          }
        } else if (action.kind === 'pass') nowMs += action.ms;
        else {
          sink.connected = action.connected;
          sink.takes = action.takes;
          bytesMax = frameHeaderBytes + action.recordsMax * (recordHeaderBytes + reportBytes);
        }
        batcher.flush(nowMs);
      }
      sink.connected = true;
      sink.takes = true;
      batcher.flush(Math.max(nowMs, batcher.dueMs()));
      for (const [uid, [epoch, seq]] of newest) {
        expect(got.report(uid)).toMatchObject({ epoch, seq });
      }
      const complete = got.frames.filter((frame) => frame.kind === frameKind.keyframe);
      for (const { part, parts } of complete) expect(part).toBeLessThan(parts);
      expect(got.frames.every((frame) => frame.parts >= 1)).toBe(true);
    }),
    { numRuns: 300 },
  );
});
