import { decodeRanks, epochTakeoverMs, podKeyFromUid, podKeyText, reason } from '@leadsman/wire';
import { expect, test } from 'vitest';
import {
  attributesRecord,
  goneRecord,
  ranksRecord,
  reportRecord,
  SampleSender,
} from '../sample-frame.ts';
import type { SampleOptions } from '../sample-report.ts';
import { endpointState, staleAfterMsDefault, stateOf } from '../view/endpoint-state.ts';
import { createView, feedState } from '../view/layout.ts';
import { ViewReader } from '../view/view-reader.ts';
import { ViewWriter } from '../view/view-writer.ts';
import { FrameIngest } from './frame-ingest.ts';
import { tombstoneMs } from './tombstones.ts';

const keyOf = (uid: string) => podKeyText(podKeyFromUid(uid));

/** A fleet on a fake clock; `nowMs` is moved by the tests. */
function setup(slotsMax = 16) {
  const shared = createView({ slotsMax });
  const writer = new ViewWriter(shared);
  const ingest = new FrameIngest({ writer, nowMs: 0, keepRanks: true });
  const reader = new ViewReader(shared);
  const sender = new SampleSender();
  const fleet = {
    shared,
    ingest,
    reader,
    sender,
    nowMs: 0,
    receive(frame: Uint8Array) {
      ingest.receive(frame, fleet.nowMs);
      reader.refresh();
    },
    report(options: SampleOptions = {}) {
      fleet.receive(sender.frame([reportRecord(options)]));
    },
    /** Lets time pass with ticks at their usual distance. */
    pass(ms: number, feed: (typeof feedState)[keyof typeof feedState] = feedState.synced) {
      const until = fleet.nowMs + ms;
      while (fleet.nowMs < until) {
        fleet.nowMs = Math.min(until, fleet.nowMs + 100);
        ingest.tick(fleet.nowMs, feed);
      }
      reader.refresh();
    },
    slot: (uid = 'pod-a', port = 8000) => reader.slotOf(keyOf(uid), port),
    seq: (uid = 'pod-a') => reader.seq(fleet.slot(uid)),
  };
  return fleet;
}

test('the highest sequence stays, repeats and older ones are counted and dropped', () => {
  // Frames are numbered like the reports here: one pod that publishes for itself.
  const fleet = setup();
  const frames = new Map<number, Uint8Array>();
  for (let seq = 1; seq <= 20; seq++) {
    frames.set(seq, fleet.sender.frame([reportRecord({ seq })]));
  }
  for (const seq of [11, 12, 12, 10, 20]) fleet.receive(frames.get(seq)!);
  expect(fleet.seq()).toBe(20);
  expect(fleet.ingest.counters).toMatchObject({
    appliedReports: 3,
    duplicateReports: 1,
    olderReports: 1,
    duplicateFrames: 1,
    reorderedFrames: 1,
    frameGaps: 1,
    missingFrames: 7,
  });
}); // C35

test('a restarted sender is accepted at sequence 1, as its epoch is higher', () => {
  const fleet = setup();
  fleet.report({ epoch: 5, seq: 900 });
  fleet.report({ epoch: 6, seq: 1 });
  fleet.report({ epoch: 5, seq: 901 });
  expect([fleet.reader.epoch(fleet.slot()), fleet.seq()]).toEqual([6, 1]);
}); // C35

test('a sender whose clock went back ten minutes is accepted once the old epoch is silent', () => {
  const fleet = setup();
  fleet.report({ epoch: 600_000, seq: 50 });
  fleet.pass(epochTakeoverMs - 1);
  fleet.report({ epoch: 1, seq: 1 });
  expect(fleet.seq()).toBe(50);
  fleet.pass(1);
  fleet.report({ epoch: 1, seq: 2 });
  expect(fleet.seq()).toBe(2);
  expect(fleet.ingest.counters.takeoverReports).toBe(1);
});

test('the age of numbers counts from their scrape, by the receiver clock', () => {
  const fleet = setup();
  fleet.pass(5_000);
  fleet.report({ ageMs: 30 });
  expect(fleet.reader.measuredAtMs(fleet.slot())).toBe(4_970);
  expect(fleet.reader.receivedAtMs(fleet.slot())).toBe(5_000);
});

test('numbers that were flattering once are stale when their pod falls silent', () => {
  const fleet = setup();
  fleet.report({ uid: 'pod-1', value: 0 });
  fleet.pass(staleAfterMsDefault + 100, feedState.disconnected);
  fleet.report({ uid: 'pod-2', value: 3 });
  const state = (uid: string) =>
    stateOf(fleet.reader, fleet.slot(uid), fleet.nowMs, staleAfterMsDefault);
  expect(state('pod-1')).toBe(endpointState.stale);
  expect(state('pod-2')).toBe(endpointState.fresh);
}); // C10

test('states: never scraped is unknown, claimed work without progress is suspect', () => {
  const fleet = setup();
  fleet.report({ uid: 'pod-1', value: Number.NaN, reason: reason.pending });
  fleet.report({ uid: 'pod-2', flags: 2 });
  expect(stateOf(fleet.reader, fleet.slot('pod-1'), 0, 2_000)).toBe(endpointState.unknown);
  expect(stateOf(fleet.reader, fleet.slot('pod-2'), 0, 2_000)).toBe(endpointState.suspect);
});

test('an endpoint leaves when nothing newer comes, and its repeats do not bring it back', () => {
  const fleet = setup();
  const frame = fleet.sender.frame([reportRecord({ seq: 3 })]);
  fleet.receive(frame);
  fleet.pass(5_000);
  fleet.receive(frame);
  fleet.pass(5_100);
  expect(fleet.slot()).toBe(-1);
  fleet.receive(frame);
  expect(fleet.slot()).toBe(-1);
  fleet.report({ seq: 4 });
  expect(fleet.seq()).toBe(4);
  expect(fleet.ingest.counters).toMatchObject({ expiredEndpoints: 1, withdrawnReports: 1 });
});

test('endpoints do not expire while the feed is cut: silence says nothing about them', () => {
  const fleet = setup();
  fleet.report();
  fleet.pass(60_000, feedState.disconnected);
  expect(fleet.slot()).toBe(0);
});

test('after the feed came back senders have the whole time to do so, too', () => {
  const fleet = setup();
  fleet.report({ uid: 'pod-a' });
  fleet.report({ uid: 'pod-b' });
  fleet.pass(60_000, feedState.disconnected);
  fleet.pass(9_000);
  expect([fleet.slot('pod-a'), fleet.slot('pod-b')]).toEqual([0, 1]);
  fleet.report({ uid: 'pod-a', seq: 2 });
  fleet.pass(1_500);
  expect([fleet.slot('pod-a'), fleet.slot('pod-b')]).toEqual([0, -1]);
});

test('sender clocks that are wrong by ten minutes either way change no age', () => {
  const fleet = setup();
  fleet.pass(5_000);
  for (const wrongMs of [-600_000, 0, 600_000]) {
    const epoch = 1_800_000_000_000 + wrongMs;
    fleet.report({ uid: `pod${wrongMs}`, epoch, ageMs: 30 });
    const slot = fleet.slot(`pod${wrongMs}`);
    expect(fleet.nowMs - fleet.reader.measuredAtMs(slot)).toBe(30);
    expect(stateOf(fleet.reader, slot, fleet.nowMs + 1_000, 2_000)).toBe('fresh');
    expect(stateOf(fleet.reader, slot, fleet.nowMs + 2_000, 2_000)).toBe('stale');
  }
});

test('a thread that stood still shows what arrives next as old, and expires nobody at once', () => {
  const fleet = setup();
  fleet.pass(1_000);
  fleet.report({ seq: 1 });
  fleet.nowMs += 12_000;
  fleet.report({ seq: 2 });
  expect(fleet.nowMs - fleet.reader.measuredAtMs(fleet.slot())).toBe(11_900);
  fleet.ingest.tick(fleet.nowMs, feedState.synced);
  fleet.report({ seq: 3 });
  expect(fleet.nowMs - fleet.reader.measuredAtMs(fleet.slot())).toBe(11_900);
  expect(fleet.ingest.counters.stalls).toBe(1);
  fleet.pass(200);
  fleet.report({ seq: 4 });
  expect(fleet.reader.measuredAtMs(fleet.slot())).toBe(fleet.nowMs);
});

test('a long stall is not taken for silence: no late lower epoch, nobody expires while senders return', () => {
  const fleet = setup();
  fleet.pass(1_000);
  fleet.report({ uid: 'pod-a', epoch: 6, seq: 1 });
  fleet.report({ uid: 'pod-b' });
  fleet.receive(fleet.sender.frame([goneRecord({ uid: 'pod-c', epoch: 6, seq: 1 })]));
  fleet.nowMs += 30_000;
  // What had waited in a socket: the former life of the sender.
  fleet.report({ uid: 'pod-a', epoch: 5, seq: 900 });
  expect(fleet.reader.epoch(fleet.slot('pod-a'))).toBe(6);
  fleet.report({ uid: 'pod-c', epoch: 5, seq: 900, reason: reason.timeout });
  expect(fleet.slot('pod-c')).toBe(-1);
  // Its connection was given up meanwhile; it takes a while to make another.
  fleet.pass(6_000);
  fleet.report({ uid: 'pod-a', epoch: 6, seq: 2 });
  expect([fleet.slot('pod-a'), fleet.slot('pod-b')]).toEqual([0, 1]);
  fleet.pass(5_000);
  expect([fleet.slot('pod-a'), fleet.slot('pod-b')]).toEqual([0, -1]);
});

test('a view on a machine that stalls again and again does not fill with the dead', () => {
  const fleet = setup(4);
  fleet.report({ uid: 'pod-a' });
  for (let i = 0; i < 40; i++) {
    fleet.nowMs += 600;
    fleet.ingest.tick(fleet.nowMs, feedState.synced);
    fleet.report({ uid: 'pod-b', seq: i + 1 });
  }
  expect(fleet.ingest.counters.stalls).toBe(40);
  expect([fleet.slot('pod-a'), fleet.slot('pod-b')]).toEqual([-1, 1]);
});

test('a withdrawn endpoint leaves at once, and what was on its way does not revive it', () => {
  const fleet = setup();
  fleet.report({ seq: 7 });
  fleet.receive(fleet.sender.frame([goneRecord({ seq: 8 })]));
  expect(fleet.slot()).toBe(-1);
  fleet.report({ seq: 7 });
  fleet.report({ seq: 8 });
  expect(fleet.slot()).toBe(-1);
  fleet.report({ seq: 9 });
  expect(fleet.seq()).toBe(9);
});

test('a withdrawal older than the newest report is ignored', () => {
  const fleet = setup();
  fleet.report({ seq: 20 });
  fleet.receive(fleet.sender.frame([goneRecord({ seq: 8 })]));
  expect(fleet.seq()).toBe(20);
});

test('notes about endpoints that left are dropped after a while, and are bounded', () => {
  const fleet = setup(4);
  for (let i = 0; i < 20; i++) {
    fleet.report({ uid: `pod-${i}`, seq: 1 });
    fleet.receive(fleet.sender.frame([goneRecord({ uid: `pod-${i}`, seq: 2 })]));
  }
  expect(fleet.ingest.notes).toBe(4);
  fleet.pass(tombstoneMs + 100);
  expect(fleet.ingest.notes).toBe(0);
});

test('an unknown endpoint with numbers older than the expiry does not appear', () => {
  const fleet = setup();
  fleet.report({ ageMs: 11_000 });
  expect(fleet.slot()).toBe(-1);
  fleet.report({ uid: 'pod-b', ageMs: 11_000, reason: reason.timeout });
  expect(fleet.slot('pod-b')).toBe(0);
  expect(fleet.ingest.counters.expiredReports).toBe(1);
});

test('attributes are kept by (epoch, revision), also when they come before the report', () => {
  const fleet = setup();
  const send = (podName: string, epoch: number, revision: number) =>
    fleet.receive(fleet.sender.frame([attributesRecord({ podName, epoch, revision })]));
  send('early', 1, 1);
  fleet.report();
  expect(fleet.reader.attributes(fleet.slot())?.podName).toBe('early');
  send('newer', 1, 3);
  send('late', 1, 2);
  expect(fleet.reader.attributes(fleet.slot())?.podName).toBe('newer');
  send('restarted', 2, 1);
  send('before', 1, 9);
  fleet.report({ seq: 2 });
  fleet.reader.refresh();
  expect(fleet.reader.attributes(fleet.slot())?.podName).toBe('before');
});

test('attributes of an older epoch than the reporting one are refused', () => {
  const fleet = setup();
  fleet.report({ epoch: 2 });
  fleet.receive(fleet.sender.frame([attributesRecord({ podName: 'new', epoch: 2 })]));
  fleet.receive(fleet.sender.frame([attributesRecord({ podName: 'old', epoch: 1, revision: 9 })]));
  expect(fleet.reader.attributes(fleet.slot())?.podName).toBe('new');
});

test('attributes that are no text are refused, the report beside them is not', () => {
  const fleet = setup();
  const bad = attributesRecord({ podName: 'xxxx' });
  bad.bytes[bad.bytes.indexOf(120)] = 0xff;
  fleet.receive(fleet.sender.frame([reportRecord(), bad]));
  expect(fleet.ingest.counters.badAttributes).toBe(1);
  expect(fleet.slot()).toBe(0);
});

test('rank numbers are kept with the report they belong to', () => {
  const fleet = setup();
  const report = reportRecord({ seq: 2, engineRanks: 2 });
  fleet.receive(fleet.sender.frame([report, ranksRecord({ seq: 2 }, [9, 0])]));
  fleet.receive(fleet.sender.frame([ranksRecord({ seq: 1 }, [1, 1, 1])]));
  const kept = decodeRanks(fleet.ingest.ranksRecord(fleet.slot())!);
  expect(kept.ranks.map((rank) => rank.waitingRequests)).toEqual([9, 0]);
  fleet.receive(fleet.sender.frame([goneRecord({ seq: 3 })]));
  expect(fleet.ingest.ranksRecord(0)).toBeUndefined();
});

test('rank numbers end with the ranks, and with the engine that had them', () => {
  const fleet = setup();
  const withRanks = (epoch: number) => {
    const report = reportRecord({ epoch, engineRanks: 2 });
    fleet.receive(fleet.sender.frame([report, ranksRecord({ epoch }, [9, 0])]));
  };
  withRanks(1);
  expect(fleet.ingest.ranksRecord(0)).toBeDefined();
  fleet.report({ seq: 2, engineRanks: 1 });
  expect(fleet.ingest.ranksRecord(0)).toBeUndefined();
  withRanks(2);
  expect(fleet.ingest.ranksRecord(0)).toBeDefined();
  fleet.report({ epoch: 3, engineRanks: 4 });
  expect(fleet.ingest.ranksRecord(0)).toBeUndefined();
});

test('a full view counts newcomers and still updates whom it knows', () => {
  const fleet = setup(2);
  for (let i = 0; i < 5; i++) fleet.report({ uid: `pod-${i}` });
  fleet.report({ uid: 'pod-1', seq: 2 });
  expect(fleet.ingest.counters.fullReports).toBe(3);
  expect(fleet.seq('pod-1')).toBe(2);
});

test('bad frames are counted by reason, unknown records and versions too', () => {
  const fleet = setup();
  const frame = fleet.sender.frame([reportRecord(), { type: 99, bytes: new Uint8Array(8) }]);
  const newer = frame.slice();
  newer[4] = 2;
  fleet.receive(newer);
  fleet.receive(frame.subarray(0, 100));
  fleet.receive(new Uint8Array(200));
  fleet.receive(frame);
  expect(fleet.ingest.counters.badFrames).toMatchObject({ version: 1, truncated: 1, magic: 1 });
  expect(fleet.ingest.counters.unknownRecords).toBe(1);
  expect(fleet.slot()).toBe(0);
});

test('senders are tracked up to a bound and forgotten when silent', () => {
  const fleet = setup(4);
  for (let id = 1; id <= 6; id++) {
    fleet.receive(new SampleSender(id).frame([reportRecord({ seq: id })]));
  }
  expect(fleet.ingest.senders).toBe(4);
  expect(fleet.ingest.counters.untrackedFrames).toBe(2);
  fleet.pass(61_000);
  expect(fleet.ingest.senders).toBe(0);
});

test('an ingest over a view that another one left goes on with its endpoints', () => {
  const fleet = setup();
  fleet.report({ uid: 'pod-a', seq: 9 });
  fleet.report({ uid: 'pod-b', seq: 5 });
  const writer = new ViewWriter(fleet.shared);
  const next = new FrameIngest({ writer, nowMs: fleet.nowMs });
  next.receive(new SampleSender(2).frame([reportRecord({ uid: 'pod-b', seq: 4 })]), 1);
  next.receive(new SampleSender(2).frame([reportRecord({ uid: 'pod-a', seq: 10 })]), 1);
  fleet.reader.refresh();
  expect(writer.used).toBe(2);
  expect([fleet.seq('pod-a'), fleet.seq('pod-b')]).toEqual([10, 5]);
});

test('what is known to have waited on its way is as much older', () => {
  const fleet = setup();
  fleet.pass(5_000);
  fleet.ingest.receive(fleet.sender.frame([reportRecord({ seq: 1, ageMs: 2 })]), 5_000, 600);
  fleet.reader.refresh();
  expect(fleet.reader.measuredAtMs(fleet.slot())).toBe(4_398);
  fleet.ingest.receive(fleet.sender.frame([reportRecord({ seq: 2, ageMs: 2 })]), 5_050);
  fleet.reader.refresh();
  expect(fleet.reader.measuredAtMs(fleet.slot())).toBe(5_048);
});
