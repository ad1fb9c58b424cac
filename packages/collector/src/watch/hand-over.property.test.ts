import { podKeyFromUid, podKeyText } from '@leadsman/wire';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FrameIngest } from '../ingest/frame-ingest.ts';
import { reportRecord, SampleSender } from '../sample-frame.ts';
import { createView } from '../view/layout.ts';
import { ViewReader } from '../view/view-reader.ts';
import { ViewWriter } from '../view/view-writer.ts';
import { ViewFrames } from './view-frames.ts';

const uids = ['pod-a', 'pod-b', 'pod-c'];

/** A view with its ingest, and the frames that watchers of it would get. */
function sampleCollector(id: number) {
  const view = createView({ slotsMax: 8 });
  const ingest = new FrameIngest({ writer: new ViewWriter(view), nowMs: 0 });
  const reader = new ViewReader(view);
  const frames = new ViewFrames(reader, { id: new Uint8Array(16).fill(id), epoch: 1 });
  const numberOf = (uid: string) => {
    const slot = reader.slotOf(podKeyText(podKeyFromUid(uid)), 8000);
    return slot < 0 ? 0 : reader.numberOf(slot, 0);
  };
  return { ingest, reader, frames, numberOf };
}

/** Which of two replicas hears a report, and whether its watcher gets the frame. */
const step = fc.record({
  uid: fc.constantFrom(...uids),
  epoch: fc.integer({ min: 1, max: 2 }),
  seq: fc.integer({ min: 1, max: 9 }),
  heardBy: fc.constantFrom([0], [1], [0, 1]),
  watched: fc.constantFrom(0, 1),
  lost: fc.boolean(),
  keyframe: fc.boolean(),
});

test('a watcher that changes between replicas never goes back and ends at the newest', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const replicas = [sampleCollector(1), sampleCollector(2)];
      const picker = sampleCollector(3);
      const sender = new SampleSender(9);
      const seen = new Map(uids.map((uid) => [uid, 0]));
      const follow = (frames: readonly Uint8Array[]) => {
        for (const frame of frames) picker.ingest.receive(frame, 0);
        picker.reader.refresh();
        for (const uid of uids) {
          expect(picker.numberOf(uid)).toBeGreaterThanOrEqual(seen.get(uid)!);
          seen.set(uid, picker.numberOf(uid));
        }
      };
      for (const { uid, epoch, seq, heardBy, watched, lost, keyframe } of steps) {
        const frame = sender.frame([reportRecord({ uid, epoch, seq, value: epoch * 100 + seq })]);
        for (const i of heardBy) replicas[i]!.ingest.receive(frame, 0);
        const { reader, frames } = replicas[watched]!;
        reader.refresh();
        const changes = frames.changes(0);
        if (!lost) follow(changes);
        if (keyframe) follow(frames.keyframe(0, true));
      }
      for (const { reader, frames } of replicas) {
        reader.refresh();
        follow(frames.keyframe(0, true));
      }
      for (const uid of uids) {
        const newest = Math.max(...replicas.map((replica) => replica.numberOf(uid)));
        expect(picker.numberOf(uid)).toBe(newest);
      }
    }),
  );
});
