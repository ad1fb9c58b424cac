import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { createView } from './layout.ts';
import type { TornReadResult, TornReadTask } from './torn-read.worker.ts';

/** Few slots, so that writer and readers meet in the same one all the time. */
const slots = 4;
const readers = 3;

/** Runs a writer and several readers until `enough` says so or the deadline passes. */
async function race(locked: boolean, enough: (torn: number, copied: number) => boolean) {
  const shared = createView({ slotsMax: slots });
  const control = new SharedArrayBuffer(12);
  const words = new Int32Array(control);
  const workers = ['writer' as const, ...new Array(readers).fill('reader' as const)].map((role) => {
    const workerData: TornReadTask = { shared, control, role, locked, slots };
    return new Worker(new URL('./torn-read.worker.ts', import.meta.url), { workerData });
  });
  const results = workers.map(
    async (worker) => (await once(worker, 'message'))[0] as TornReadResult,
  );
  const deadlineMs = performance.now() + 15_000;
  while (performance.now() < deadlineMs && !enough(words[1]!, words[2]!)) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  Atomics.store(words, 0, 1);
  const [written, ...read] = await Promise.all(results);
  await Promise.all(workers.map((worker) => worker.terminate()));
  return { written: written!, read };
}

test('several readers under full load never see half a write', async () => {
  const { written, read } = await race(true, (_torn, copied) => copied >= 60_000);
  expect(written.slots).toBeGreaterThan(0);
  for (const reader of read) {
    expect(reader.slots).toBeGreaterThan(0);
    expect([reader.torn, reader.backwards]).toEqual([0, 0]);
  }
}, 30_000);

test('the same readers see half writes as soon as the writer goes without the lock', async () => {
  const { read } = await race(false, (torn) => torn >= 10);
  expect(read.reduce((sum, reader) => sum + reader.torn, 0)).toBeGreaterThanOrEqual(10);
}, 30_000);
