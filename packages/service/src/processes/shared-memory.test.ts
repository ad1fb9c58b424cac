import { afterEach, expect, it } from 'vitest';
import { createHeartbeat, HeartbeatReader, startHeartbeat } from './heartbeat.ts';
import { allocateInProcess, SharedMemory } from './shared-memory.ts';

let memory: SharedMemory | undefined;
afterEach(() => {
  memory?.close();
  memory = undefined;
});

it('gives zeroed places that do not overlap, and finds them again', () => {
  memory = SharedMemory.create('test');
  const first = new Int32Array(memory.allocate(12)).fill(-1);
  const second = memory.allocate(100_000);
  expect(new Uint8Array(second).every((byte) => byte === 0)).toBe(true);
  new Int32Array(second)[24_999] = 5;
  const again = memory.map(memory.regionOf(second));
  expect(new Int32Array(again)[24_999]).toBe(5);
  expect(Atomics.add(new Int32Array(again), 24_999, 1)).toBe(5);
  expect(new Int32Array(second)[24_999]).toBe(6);
  expect([...first]).toEqual([-1, -1, -1]);
});

it('takes no room before it is written to', () => {
  memory = SharedMemory.create('test');
  const large = new Uint8Array(memory.allocate(64 * 2 ** 30));
  large[large.length - 1] = 1;
  expect(large.at(-1)).toBe(1);
});

it('refuses a region beyond its end, and a foreign buffer', () => {
  memory = SharedMemory.create('test');
  memory.allocate(8);
  expect(() => memory!.map({ offset: 0, bytes: 1_000_000 })).toThrow(RangeError);
  expect(() => memory!.regionOf(new ArrayBuffer(8))).toThrow(RangeError);
});

it('prints no warning', async () => {
  const warnings: Error[] = [];
  const hear = (warning: Error) => warnings.push(warning);
  process.on('warning', hear);
  memory = SharedMemory.create('test');
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', hear);
  expect(warnings).toEqual([]);
});

it('tells how busy a loop is, from its heartbeat', async () => {
  const beats = createHeartbeat(allocateInProcess);
  const reader = new HeartbeatReader(beats);
  const stop = startHeartbeat(beats);
  const deadline = performance.now() + 10_000;
  while (reader.beats < 3) {
    if (performance.now() > deadline) throw new Error('no beats');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  stop();
  expect(reader.busyRatio(performance.now())).toBeNaN();
  const from = performance.now();
  while (performance.now() < from + 20);
  // No beat, no idle time: it hangs, as far as anybody can tell.
  expect(reader.busyRatio(performance.now())).toBe(1);
  reader.reset();
  expect(reader.beats).toBe(0);
});
