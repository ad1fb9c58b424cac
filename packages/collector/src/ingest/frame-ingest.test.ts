/** Frames, ages, silence and stalls. */

import { slotState } from '@leadsman/view/endpoint-json';
import { feedState } from '@leadsman/view/layout';
import { staleAfterMsDefault } from '@leadsman/view/trust';
import { ViewWriter } from '@leadsman/view/writer';
import { reason } from '@leadsman/wire';
import { expect, test } from 'vitest';
import { goneRecord, reportRecord, SampleSender } from '../sample-frame.ts';
import { setup } from './fleet.fixture.ts';
import { FrameIngest } from './frame-ingest.ts';

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
    slotState(fleet.reader, fleet.slot(uid), fleet.nowMs, staleAfterMsDefault);
  expect(state('pod-1')).toBe('stale');
  expect(state('pod-2')).toBe('fresh');
});

test('states: never scraped is unknown, claimed work without progress is suspect', () => {
  const fleet = setup();
  fleet.report({ uid: 'pod-1', value: Number.NaN, reason: reason.pending });
  fleet.report({ uid: 'pod-2', flags: 2 });
  expect(slotState(fleet.reader, fleet.slot('pod-1'), 0, 2_000)).toBe('unknown');
  expect(slotState(fleet.reader, fleet.slot('pod-2'), 0, 2_000)).toBe('suspect');
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
    expect(slotState(fleet.reader, slot, fleet.nowMs + 1_000, 2_000)).toBe('fresh');
    expect(slotState(fleet.reader, slot, fleet.nowMs + 2_000, 2_000)).toBe('stale');
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
