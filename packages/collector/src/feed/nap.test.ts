import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Nap } from './nap.ts';

const periodMs = 8;
let nowMs: number;
let slept: number[];
let nap: Nap;

beforeEach(() => {
  nowMs = 1_000;
  slept = [];
  vi.spyOn(Atomics, 'wait').mockImplementation((_array, _index, _value, ms?: number) => {
    slept.push(ms as number);
    nowMs += ms as number;
    return 'timed-out';
  });
  nap = new Nap(periodMs, () => nowMs);
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** A turn of the event loop that brings frames and takes `workMs`. */
async function turn(frames: number, workMs: number): Promise<void> {
  for (let i = 0; i < frames; i++) nap.afterThis();
  nowMs += workMs;
  await new Promise((resolve) => setImmediate(resolve));
}

it('sleeps once after all frames of a turn, for the rest of the period', async () => {
  await turn(1, 0);
  await turn(20, 3);
  await turn(20, 1);
  expect(slept).toEqual([5, 7]);
});

it('does not sleep after frames that come rarely: the next is taken at once', async () => {
  for (let i = 0; i < 5; i++) {
    await turn(1, 0.1);
    nowMs += 50;
  }
  expect(slept).toEqual([]);
});

it('does not sleep in a thread that is busy for the whole period', async () => {
  await turn(1, 0);
  for (let i = 0; i < 5; i++) await turn(1_000, 9);
  expect(slept).toEqual([]);
});

it('does not sleep in a turn without frames', async () => {
  await turn(1, 0);
  await turn(0, 1);
  expect(slept).toEqual([]);
});
