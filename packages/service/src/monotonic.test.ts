import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { monotonicMs } from './monotonic.ts';

it('agrees with the kernel clock and across threads', async () => {
  const [seconds, nanoseconds] = process.hrtime();
  const before = seconds * 1_000 + nanoseconds / 1e6;
  expect(monotonicMs()).toBeGreaterThanOrEqual(before - 0.1);
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
