import fc from 'fast-check';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { BatchedWakeup } from './batched-wakeup.ts';

const periodMs = 8;
let nowMs: number;
let slept: number[];
let wakeup: BatchedWakeup;

beforeEach(() => {
  nowMs = 1_000;
  slept = [];
  vi.spyOn(Atomics, 'wait').mockImplementation((_array, _index, _value, ms?: number) => {
    slept.push(ms as number);
    nowMs += ms as number;
    return 'timed-out';
  });
  wakeup = new BatchedWakeup(periodMs, () => nowMs);
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** A turn of the event loop that brings frames and takes `workMs`. */
async function turn(frames: number, workMs: number): Promise<void> {
  for (let i = 0; i < frames; i++) wakeup.frameTaken();
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

it('ends each sleep a period after the last waking, never later, whatever the turns', async () => {
  const turns = fc.array(
    fc.record({
      frames: fc.nat(3),
      workMs: fc.double({ min: 0, max: 20, noNaN: true }),
      pauseMs: fc.constantFrom(0, 0, 1, 30),
    }),
    { maxLength: 30 },
  );
  await fc.assert(
    fc.asyncProperty(turns, fc.double({ min: 0, max: 1e10, noNaN: true }), async (all, startMs) => {
      nowMs = startMs;
      wakeup = new BatchedWakeup(periodMs, () => nowMs);
      let awakeSinceMs = Number.NEGATIVE_INFINITY;
      for (const { frames, workMs, pauseMs } of all) {
        slept = [];
        await turn(frames, workMs);
        expect(slept.length).toBeLessThanOrEqual(frames === 0 ? 0 : 1);
        if (slept.length > 0) expect(nowMs - awakeSinceMs).toBeCloseTo(periodMs, 3);
        if (frames > 0) awakeSinceMs = nowMs;
        nowMs += pauseMs;
      }
    }),
    { numRuns: 50 },
  );
});
