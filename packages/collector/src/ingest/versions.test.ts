/**
 * Senders, a collector and its watchers of different versions run together: nobody is refused, each
 * knows what its version knows, and an endpoint whose sender is replaced goes on.
 */
import { metric, metricsCount, podKeyFromUid, podKeyText } from '@leadsman/wire';
import { oldFrame, oldReport, readOldFrame, relayedByOld } from '@leadsman/wire/fixture/version-1';
import { expect, test } from 'vitest';
import { reportRecord, SampleSender } from '../sample-frame.ts';
import { Departures } from '../watch/departures.ts';
import { ViewFrames } from '../watch/view-frames.ts';
import { setup } from './fleet.fixture.ts';

const oldNumbers = (value: number) => new Array<number>(23).fill(value);

function oldSample(uid: string, seq: number, epoch = 1) {
  const podKey = podKeyFromUid(uid);
  return oldReport({ podKey, port: 8000, epoch, seq, metrics: oldNumbers(seq) });
}

function numbersOf(fleet: ReturnType<typeof setup>, uid: string): number[] {
  const numbers = new Float64Array(metricsCount);
  expect(fleet.reader.copyNumbers(fleet.slot(uid), numbers, 0)).toBe(true);
  return [...numbers];
}

const stated = (value: number, count: number) =>
  Array.from({ length: metricsCount }, (_, i) => (i < count ? value : Number.NaN));

test('old and new senders fill one view, and both kinds of watchers read it', () => {
  const fleet = setup();
  for (let seq = 1; seq <= 3; seq++) {
    fleet.receive(oldFrame(seq, [1, oldSample('old', seq)], [1, oldSample('old-2', seq)]));
    fleet.report({ uid: 'new', seq });
  }
  expect(fleet.ingest.counters).toMatchObject({ appliedReports: 9, unknownRecords: 0 });
  expect(numbersOf(fleet, 'old')).toEqual(stated(3, 23));
  expect(numbersOf(fleet, 'old-2')).toEqual(stated(3, 23));
  expect(numbersOf(fleet, 'new')).toEqual(stated(3, metricsCount));

  const frames = new ViewFrames(fleet.reader, new Departures(16), {
    id: new Uint8Array(16),
    epoch: 1,
  });
  const told = frames.keyframe(fleet.nowMs, true);
  const oldWatcher = told.flatMap(readOldFrame);
  expect(oldWatcher.map(({ podKey }) => podKeyText(podKey))).toHaveLength(3);
  for (const { metrics } of oldWatcher) expect(metrics).toEqual(oldNumbers(3));
  const newWatcher = setup();
  for (const frame of told) newWatcher.receive(frame);
  expect(numbersOf(newWatcher, 'old')).toEqual(stated(3, 23));
  expect(numbersOf(newWatcher, 'new')).toEqual(stated(3, metricsCount));
});

test('what an old collector passes on of new senders is read', () => {
  const fleet = setup();
  const { bytes } = reportRecord({ uid: 'new', seq: 5 });
  const relayed = relayedByOld(bytes);
  fleet.receive(oldFrame(1, [1, relayed], [1, oldSample('old', 5)]));
  expect(numbersOf(fleet, 'new')).toEqual(stated(5, 23));
  expect(numbersOf(fleet, 'old')).toEqual(stated(5, 23));
});

test('an endpoint goes on when its sender is replaced, forth and back', () => {
  const fleet = setup();
  const capacity = () => fleet.reader.numberOf(fleet.slot(), metric.kvCapacityTokens);
  fleet.receive(oldFrame(1, [1, oldSample('pod-a', 9, 1)]));
  expect(capacity()).toBeNaN();
  fleet.receive(new SampleSender(2).frame([reportRecord({ epoch: 2, seq: 1, value: 77 })]));
  expect(capacity()).toBe(77);
  fleet.receive(oldFrame(2, [1, oldSample('pod-a', 1, 3)]));
  expect(capacity()).toBeNaN();
  expect(fleet.reader.numberOf(fleet.slot(), metric.runningRequests)).toBe(1);
});
