/** Which record may change the view, and when an endpoint leaves it. */
import {
  decodeRanks,
  epochTakeoverMs,
  FrameWriter,
  frameKind,
  reason,
  recordType,
} from '@leadsman/wire';
import { expect, test } from 'vitest';
import { attributesRecord, goneRecord, ranksRecord, reportRecord } from '../sample-frame.ts';
import { setup } from './fleet.fixture.ts';
import { tombstoneMs } from './tombstones.ts';

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
});

test('keyframes count as whole when each part came in order, else once as incomplete', () => {
  const fleet = setup();
  const writer = new FrameWriter({ id: new Uint8Array(16).fill(3), epoch: 1 });
  const part = (at: number, parts: number) => {
    writer.append(recordType.report, reportRecord().bytes);
    return writer.finish(frameKind.keyframe, at, parts);
  };
  const receive = (...parts: number[]) => {
    for (const at of parts) fleet.receive(part(at, 3));
    const { keyframes, incompleteKeyframes } = fleet.ingest.counters;
    return [keyframes, incompleteKeyframes];
  };
  // Came in the middle of one: nothing is known of its beginning.
  expect(receive(1, 2)).toEqual([0, 0]);
  expect(receive(0, 1, 2)).toEqual([1, 0]);
  expect(receive(0, 2)).toEqual([1, 1]);
  expect(receive(1, 2)).toEqual([1, 1]);
  expect(receive(0, 1)).toEqual([1, 1]);
  expect(receive(0, 1, 2)).toEqual([2, 2]);
  expect(receive(2)).toEqual([2, 3]);
  fleet.receive(part(0, 1));
  expect(receive()).toEqual([3, 3]);
});

test('another address cannot take an endpoint that reports, whatever its epoch', () => {
  const fleet = setup();
  const address = '10.6.6.6';
  for (let seq = 1; seq <= 40; seq++) {
    fleet.report({ epoch: 5, seq, value: 1 });
    fleet.report({ epoch: 9e15, seq, value: 1_000, address });
    fleet.pass(100);
    expect(fleet.reader.address(fleet.slot())).toBe('10.0.0.7');
  }
  expect(fleet.ingest.counters).toMatchObject({ appliedReports: 40, foreignReports: 40 });
  // A pod that was made anew at another address is believed once its former self is silent.
  fleet.pass(epochTakeoverMs);
  fleet.report({ epoch: 6, seq: 1, address });
  expect(fleet.reader.address(fleet.slot())).toBe(address);
});

test('a restarted sender is accepted at sequence 1, as its epoch is higher', () => {
  const fleet = setup();
  fleet.report({ epoch: 5, seq: 900 });
  fleet.report({ epoch: 6, seq: 1 });
  fleet.report({ epoch: 5, seq: 901 });
  expect([fleet.reader.epoch(fleet.slot()), fleet.seq()]).toEqual([6, 1]);
});

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
