import { createView } from '@leadsman/view/layout';
import { ViewReader } from '@leadsman/view/reader';
import { ViewWriter } from '@leadsman/view/writer';
import { podKeyFromUid, podKeyText } from '@leadsman/wire';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { goneRecord, reportRecord, SampleSender } from '../sample-frame.ts';
import { FrameIngest } from './frame-ingest.ts';

const uids = ['pod-a', 'pod-b', 'pod-c'];

function setup() {
  const shared = createView({ slotsMax: 8 });
  const ingest = new FrameIngest({ writer: new ViewWriter(shared), nowMs: 0 });
  const reader = new ViewReader(shared);
  const slotOf = (uid: string) => reader.slotOf(podKeyText(podKeyFromUid(uid)), 8000);
  return { shared, ingest, reader, slotOf };
}

/** What an endpoint said once, and the value that encodes its place in the order. */
const said = fc.record({
  uid: fc.constantFrom(...uids),
  epoch: fc.integer({ min: 1, max: 3 }),
  seq: fc.integer({ min: 1, max: 12 }),
});
type Said = { uid: string; epoch: number; seq: number };
const rankOf = ({ epoch, seq }: Said) => epoch * 1_000 + seq;

/**
 * Reports travel in frames of several senders (a sidecar, its agent, the agent of a hand-over),
 * some lost, some twice, in any order, within less than the takeover time.
 */
const journey = fc.record({
  frames: fc.array(
    fc.record({
      sender: fc.integer({ min: 1, max: 3 }),
      reports: fc.array(said, { minLength: 1, maxLength: 6 }),
      copies: fc.integer({ min: 0, max: 3 }),
    }),
    { maxLength: 30 },
  ),
  order: fc.array(fc.nat(), { minLength: 90, maxLength: 90 }),
});

test('any interleaving, loss, repetition, reordering and hand-over leaves the newest report', () => {
  fc.assert(
    fc.property(journey, ({ frames, order }) => {
      const { ingest, reader, slotOf } = setup();
      const senders = [1, 2, 3].map((id) => new SampleSender(id));
      const newest = new Map<string, number>();
      const sent = frames.flatMap(({ sender, reports, copies }) => {
        const records = reports.map((report) => reportRecord({ ...report, value: rankOf(report) }));
        const frame = senders[sender - 1]!.frame(records);
        return new Array(copies).fill({ frame, reports });
      });
      const shuffled = sent
        .map((item, i) => ({ item, at: order[i % order.length]! }))
        .sort((a, b) => a.at - b.at);
      for (const [i, { item }] of shuffled.entries()) {
        ingest.receive(item.frame, i);
        for (const report of item.reports as Said[]) {
          newest.set(report.uid, Math.max(newest.get(report.uid) ?? 0, rankOf(report)));
        }
        // At every moment, not only at the end.
        reader.refresh();
        for (const [uid, value] of newest) expect(reader.numberOf(slotOf(uid), 0)).toBe(value);
      }
      for (const uid of uids) if (!newest.has(uid)) expect(slotOf(uid)).toBe(-1);
    }),
  );
});

test('withdrawals take part in the same order', () => {
  const step = fc.record({ said, gone: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { ingest, reader, slotOf } = setup();
      const sender = new SampleSender();
      /** Newest (epoch, seq) heard, and whether it was a withdrawal. */
      const model = new Map<string, { rank: number; alive: boolean }>();
      for (const [i, { said: one, gone }] of steps.entries()) {
        ingest.receive(sender.frame([gone ? goneRecord(one) : reportRecord(one)]), i);
        const known = model.get(one.uid);
        const rank = rankOf(one);
        // A withdrawal is stated above the last report, but must also work at it.
        const wins = known === undefined || rank > known.rank || (gone && rank === known.rank);
        if (wins) model.set(one.uid, { rank, alive: !gone });
      }
      reader.refresh();
      for (const uid of uids) {
        const known = model.get(uid);
        const slot = slotOf(uid);
        expect(slot >= 0).toBe(known?.alive ?? false);
        if (slot >= 0) expect(reader.epoch(slot) * 1_000 + reader.seq(slot)).toBe(known!.rank);
      }
    }),
  );
});

test('bytes that are no frame change nothing', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
      const { ingest, reader } = setup();
      ingest.receive(bytes, 0);
      reader.refresh();
      expect(reader.slots).toBe(0);
    }),
  );
});

test('a damaged frame is applied whole or not at all', () => {
  const damage = fc.record({ at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }) });
  fc.assert(
    fc.property(fc.array(damage, { minLength: 1, maxLength: 4 }), fc.nat(), (damages, cut) => {
      const { ingest, reader } = setup();
      const records = uids.map((uid) => reportRecord({ uid, seq: 2 }));
      const frame = new SampleSender().frame(records);
      for (const { at, byte } of damages) frame[at % frame.length] = byte;
      const whole = cut % 3 === 0 ? frame.subarray(0, cut % frame.length) : frame;
      ingest.receive(whole, 0);
      reader.refresh();
      const { badFrames, appliedReports, unknownRecords, duplicateReports } = ingest.counters;
      const bad = Object.values(badFrames).reduce((sum, count) => sum + count, 0);
      const handled = appliedReports + unknownRecords + duplicateReports;
      // Damage may also turn a report into one that is too old, or into another record type.
      if (bad > 0) expect([handled, reader.slots]).toEqual([0, 0]);
    }),
    { numRuns: 500 },
  );
});
