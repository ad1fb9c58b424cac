/**
 * A burst on equal endpoints, picked by several threads at once: their ties fall at random and each
 * sees in shared memory what the others took, so that none is left out and none is run over.
 */
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { createRigMemory } from '../fixture/scheduler-rig.ts';
import type { BurstTask } from './burst.worker.ts';

const endpoints = 8;
const requests = 64;

/** Picks per endpoint of `workers` threads that begin together. */
async function burst(strategy: string, workers: number): Promise<number[]> {
  const shared = createRigMemory(workers);
  const gate = new Int32Array(new SharedArrayBuffer(8));
  const entry = new URL('./burst.worker.ts', import.meta.url);
  const counts = new Array<number>(endpoints).fill(0);
  await Promise.all(
    Array.from({ length: workers }, (_, worker) => {
      const task: BurstTask = {
        shared,
        gate,
        worker,
        strategy,
        endpoints,
        requests: requests / workers,
      };
      return new Promise<void>((done, failed) => {
        const thread = new Worker(entry, { workerData: task });
        thread.on('message', (picks: number[]) => {
          for (const index of picks) counts[index]!++;
          done();
        });
        thread.on('error', failed);
      });
    }),
  );
  return counts;
}

describe.each(['expected-work', 'least-load'])('64 requests in 20 ms, by %s', (strategy) => {
  it.each([1, 2, 4])(
    'are 5 to 12 at each of 8 equal endpoints, with %i workers',
    async (workers) => {
      const counts = await burst(strategy, workers);
      expect(counts.reduce((sum, count) => sum + count)).toBe(requests);
      expect(Math.min(...counts)).toBeGreaterThanOrEqual(5);
      expect(Math.max(...counts)).toBeLessThanOrEqual(12);
    },
  );
});
