import { podKeyFromUid, podKeyText } from '@leadsman/wire';
import { expect, test } from 'vitest';
import { bodyWords, createView, headerWord, ViewMemory } from './layout.ts';
import { ViewReader } from './reader.ts';
import { sampleWords } from './sample-report.ts';
import { beginWrite } from './sequence.ts';
import { ViewWriter } from './writer.ts';

const keyOf = (uid: string) => podKeyText(podKeyFromUid(uid));

function viewOf(uids: string[]) {
  const shared = createView({ slotsMax: 8 });
  const writer = new ViewWriter(shared);
  for (const [i, uid] of uids.entries()) {
    const { floats, ints } = sampleWords({ uid, value: i });
    writer.storeReport(writer.allocate(), floats, ints, 0, 1, 1);
  }
  writer.commit();
  return { shared, writer };
}

test('a new writer keeps what the old one left', () => {
  const { shared } = viewOf(['pod-a', 'pod-b']);
  const reader = new ViewReader(shared);
  reader.refresh();
  const writer = new ViewWriter(shared);
  expect([writer.used, writer.tornSlots]).toEqual([2, 0]);
  expect(reader.refresh()).toBe(false);
  expect(reader.slotOf(keyOf('pod-b'), 8000)).toBe(1);
  expect(writer.allocate()).toBe(2);
});

test('a slot whose writer died inside is emptied, the others stay', () => {
  const { shared } = viewOf(['pod-a', 'pod-b', 'pod-c']);
  const memory = new ViewMemory(shared);
  beginWrite(memory.sequences, 1);
  memory.bodyFloats[bodyWords + 20] = 1e9;

  const reader = new ViewReader(shared);
  reader.refresh();
  expect(reader.isUsed(1)).toBe(false);
  expect(reader.slotOf(keyOf('pod-c'), 8000)).toBe(2);

  const writer = new ViewWriter(shared);
  expect([writer.used, writer.tornSlots]).toEqual([2, 1]);
  reader.refresh();
  expect(reader.isUsed(1)).toBe(false);
  expect(writer.allocate()).toBe(1);
  const { floats, ints } = sampleWords({ uid: 'pod-d', value: 4 });
  writer.storeReport(1, floats, ints, 0, 1, 1);
  writer.commit();
  reader.refresh();
  expect(reader.numberOf(reader.slotOf(keyOf('pod-d'), 8000), 0)).toBe(4);
});

test('readers keep the last whole copy of a slot whose writer died inside', () => {
  const { shared } = viewOf(['pod-a']);
  const reader = new ViewReader(shared);
  reader.refresh();
  const memory = new ViewMemory(shared);
  beginWrite(memory.sequences, 0);
  memory.bodyFloats[20] = 1e9;
  Atomics.add(memory.header, headerWord.commits, 1);
  reader.refresh();
  expect(reader.numberOf(0, 0)).toBe(0);
  expect(reader.changedCount).toBe(0);
});

test('the old writer notices that it was replaced', () => {
  const { shared, writer } = viewOf(['pod-a']);
  const next = new ViewWriter(shared);
  expect(() => writer.mustOwn()).toThrow(/another writer/);
  next.mustOwn();
});
