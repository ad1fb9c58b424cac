import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { measureOffsetMs, monotonicMs } from './monotonic.ts';

it('is the same clock in all threads', async () => {
  const source = `
    import { parentPort } from 'node:worker_threads';
    import { monotonicMs } from ${JSON.stringify(new URL('./monotonic.ts', import.meta.url).href)};
    parentPort.postMessage(monotonicMs());`;
  const start = monotonicMs();
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`));
  const [inWorker] = (await once(worker, 'message')) as [number];
  expect(inWorker).toBeGreaterThan(start);
  expect(inWorker).toBeLessThanOrEqual(monotonicMs());
  await worker.terminate();
});

it('is the clock of the kernel', () => {
  const before = process.hrtime();
  const nowMs = monotonicMs();
  const after = process.hrtime();
  const msOf = ([seconds, nanoseconds]: [number, number]) => seconds * 1_000 + nanoseconds / 1e6;
  // The thread may have lost its core in the one reading that was closest, too.
  const toleranceMs = 1;
  expect(nowMs).toBeGreaterThanOrEqual(msOf(before) - toleranceMs);
  expect(nowMs).toBeLessThanOrEqual(msOf(after) + toleranceMs);
});

it('is not put out by a thread that lost its core between two readings', () => {
  const pause = fc.oneof(fc.constant(0.001), fc.double({ min: 0.001, max: 50, noNaN: true }));
  const pauses = fc.array(pause, { minLength: 24, maxLength: 24 });
  fc.assert(
    fc.property(pauses, (pausesMs) => {
      let kernelMs = 1_000;
      let reading = 0;
      const passing = (offset: number) => () => {
        kernelMs += pausesMs[reading++ % pausesMs.length]!;
        return kernelMs + offset;
      };
      const offset = measureOffsetMs(passing(-700), passing(0));
      // One try is a reading of each clock and one more: the closest of eight bounds the error.
      let leastMs = Number.POSITIVE_INFINITY;
      for (let i = 0; i < 24; i += 3) {
        leastMs = Math.min(leastMs, pausesMs[i + 1]! + pausesMs[i + 2]!);
      }
      expect(Math.abs(offset - 700)).toBeLessThanOrEqual(leastMs / 2 + 1e-6);
    }),
  );
});
