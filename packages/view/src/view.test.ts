import { encodeAttributes, metric, metricsCount, podKeyFromUid, podKeyText } from '@leadsman/wire';
import { expect, test } from 'vitest';
import { ViewError } from './error.ts';
import { createView, feedState, slotsLimit } from './layout.ts';
import { ViewReader } from './reader.ts';
import { type SampleOptions, sampleWords } from './sample-report.ts';
import { ViewWriter } from './writer.ts';

function setup(slotsMax = 8) {
  const shared = createView({ slotsMax });
  const writer = new ViewWriter(shared);
  const reader = new ViewReader(shared);
  reader.refresh();
  return { shared, writer, reader };
}

function store(writer: ViewWriter, slot: number, options: SampleOptions = {}, receivedAtMs = 100) {
  const { floats, ints } = sampleWords(options);
  writer.storeReport(slot, floats, ints, 0, receivedAtMs, receivedAtMs - (options.ageMs ?? 0));
  writer.commit();
}

function attributes(podName: string) {
  return encodeAttributes({
    podKey: podKeyFromUid('pod-a'),
    port: 8000,
    epoch: 1,
    revision: 1,
    podName,
    namespace: 'default',
    nodeName: '',
    engine: 'vllm',
    engineVersion: '',
    metricsPort: '',
    reporter: 'sidecar',
    models: ['m'],
    loraRunning: undefined,
    loraWaiting: undefined,
  }).bytes;
}

const keyOf = (uid: string) => podKeyText(podKeyFromUid(uid));

test('a reader sees every field of a stored report', () => {
  const { writer, reader } = setup();
  const slot = writer.allocate();
  store(writer, slot, { uid: 'pod-a', port: 8001, epoch: 7, seq: 9, value: 3.5, ageMs: 40 });
  expect(reader.refresh()).toBe(true);
  expect([...reader.changed.subarray(0, reader.changedCount)]).toEqual([slot]);
  expect(reader.slotOf(keyOf('pod-a'), 8001)).toBe(slot);
  const into = new Float64Array(metricsCount + 7).fill(-1);
  expect(reader.copyNumbers(slot, into, 2)).toBe(true);
  expect([...into]).toEqual([-1, -1, ...new Array(metricsCount).fill(3.5), -1, -1, -1, -1, -1]);
  expect(reader.numberOf(slot, metric.kvCacheUsageRatio)).toBe(3.5);
  expect(reader.receivedAtMs(slot)).toBe(100);
  expect(reader.measuredAtMs(slot)).toBe(60);
  expect([reader.epoch(slot), reader.seq(slot), reader.port(slot)]).toEqual([7, 9, 8001]);
  expect(reader.address(slot)).toBe('10.0.0.7');
  expect(reader.podKey(slot)).toBe(keyOf('pod-a'));
});

test('a refresh without changes reports none', () => {
  const { writer, reader } = setup();
  const slot = writer.allocate();
  store(writer, slot, { seq: 1 });
  expect(reader.refresh()).toBe(true);
  expect(reader.refresh()).toBe(false);
  expect(reader.changedCount).toBe(0);
  store(writer, slot, { seq: 2 });
  expect(reader.refresh()).toBe(false);
  expect(reader.changedCount).toBe(1);
});

test('a slot that is freed and used again has another generation', () => {
  const { writer, reader } = setup();
  const slot = writer.allocate();
  store(writer, slot, { uid: 'pod-a' });
  reader.refresh();
  const generation = reader.generation(slot);
  writer.free(slot);
  writer.commit();
  expect(writer.allocate()).toBe(slot);
  store(writer, slot, { uid: 'pod-b' });
  expect(reader.refresh()).toBe(true);
  expect(reader.generation(slot)).not.toBe(generation);
  expect(reader.slotOf(keyOf('pod-a'), 8000)).toBe(-1);
  expect(reader.slotOf(keyOf('pod-b'), 8000)).toBe(slot);
});

test('a freed slot is empty to readers', () => {
  const { writer, reader } = setup();
  const slot = writer.allocate();
  store(writer, slot);
  reader.refresh();
  writer.free(slot);
  writer.commit();
  expect(reader.refresh()).toBe(true);
  expect(reader.identitiesChanged).toBe(true);
  expect(reader.isUsed(slot)).toBe(false);
  expect(reader.copyNumbers(slot, new Float64Array(23), 0)).toBe(false);
});

test('an endpoint that moves to another slot between refreshes is found there', () => {
  const { writer, reader } = setup();
  const first = writer.allocate();
  const second = writer.allocate();
  store(writer, first, { uid: 'pod-a' });
  store(writer, second, { uid: 'pod-b' });
  reader.refresh();
  writer.free(second);
  writer.free(first);
  store(writer, second, { uid: 'pod-a' });
  store(writer, first, { uid: 'pod-b' });
  reader.refresh();
  expect(reader.slotOf(keyOf('pod-a'), 8000)).toBe(second);
  expect(reader.slotOf(keyOf('pod-b'), 8000)).toBe(first);
});

test('a pod with one report is described by it on any port, with two by the port only', () => {
  const { writer, reader } = setup();
  const first = writer.allocate();
  store(writer, first, { port: 7080 });
  reader.refresh();
  expect(reader.slotOf(keyOf('pod-a'), 15080)).toBe(first);
  const second = writer.allocate();
  store(writer, second, { port: 7081 });
  reader.refresh();
  expect(reader.slotOf(keyOf('pod-a'), 15080)).toBe(-1);
  expect(reader.slotOf(keyOf('pod-a'), 7081)).toBe(second);
  writer.free(first);
  writer.commit();
  reader.refresh();
  expect(reader.slotOf(keyOf('pod-a'), 15080)).toBe(second);
});

test('a full view refuses new endpoints, counts them, and keeps the others', () => {
  const { writer, reader } = setup(2);
  for (const uid of ['pod-a', 'pod-b']) store(writer, writer.allocate(), { uid });
  expect(writer.allocate()).toBe(-1);
  expect(writer.allocate()).toBe(-1);
  reader.refresh();
  expect(reader.droppedFull).toBe(2);
  expect(reader.slotOf(keyOf('pod-b'), 8000)).toBe(1);
  writer.free(0);
  expect(writer.allocate()).toBe(0);
});

test('attributes change under the same slot and go with it', () => {
  const { writer, reader } = setup();
  const slot = writer.allocate();
  store(writer, slot);
  reader.refresh();
  expect(reader.attributes(slot)).toBeUndefined();
  for (const name of ['engine-0', 'engine-1']) {
    writer.storeAttributes(slot, attributes(name));
    writer.commit();
    expect(reader.refresh()).toBe(true);
    expect(reader.identitiesChanged).toBe(false);
    expect(reader.attributes(slot)?.podName).toBe(name);
    expect(reader.attributes(slot)).toBe(reader.attributes(slot));
  }
  writer.free(slot);
  store(writer, writer.allocate(), { uid: 'pod-b' });
  reader.refresh();
  expect(reader.attributes(slot)).toBeUndefined();
});

test('attributes that changed since the refresh are not mixed with it', () => {
  const { writer, reader } = setup();
  const slot = writer.allocate();
  store(writer, slot);
  writer.storeAttributes(slot, attributes('old'));
  writer.commit();
  reader.refresh();
  writer.storeAttributes(slot, attributes('new'));
  writer.commit();
  expect(reader.attributes(slot)).toBeUndefined();
  reader.refresh();
  expect(reader.attributes(slot)?.podName).toBe('new');
});

test('readers that grow follow the writer beyond their first allocation', () => {
  const { writer, reader } = setup(300);
  for (let i = 0; i < 300; i++) {
    store(writer, writer.allocate(), { uid: `pod-${i}`, value: i });
    if (i % 50 === 0) reader.refresh();
  }
  reader.refresh();
  for (let i = 0; i < 300; i++) {
    expect(reader.numberOf(reader.slotOf(keyOf(`pod-${i}`), 8000), 0)).toBe(i);
  }
});

test('feed state, completeness and the writer heartbeat reach readers', () => {
  const { writer, reader } = setup();
  expect([reader.feed, reader.everSynced]).toEqual([feedState.never, false]);
  writer.setFeed(feedState.syncing);
  writer.setFeed(feedState.synced);
  writer.setFeed(feedState.disconnected);
  expect([reader.feed, reader.everSynced]).toEqual([feedState.disconnected, true]);
  const afterMonths = 3 * 2 ** 31;
  writer.heartbeat(afterMonths + 0.5);
  expect(reader.writerSilentMs(afterMonths + 700)).toBe(700);
});

test.each([0, -1, 1.5, slotsLimit + 1])('a view of %d slots is refused', (slotsMax) => {
  expect(() => createView({ slotsMax })).toThrow(ViewError);
});

test('a buffer that is no view is refused', () => {
  expect(() => new ViewReader(new SharedArrayBuffer(8))).toThrow(ViewError);
  expect(() => new ViewReader(new SharedArrayBuffer(10_000))).toThrow(ViewError);
  const { shared } = setup();
  new Int32Array(shared)[1] = 99;
  expect(() => new ViewReader(shared)).toThrow(/version/);
});
