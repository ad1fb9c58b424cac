/** Exchanges that have ended leave nothing in memory, however they ended. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { waitUntil } from '@leadsman/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { drive, type Ending } from './load.ts';
import { rawSession } from './raw-call.ts';

interface Measured {
  heapBytes: number;
  openCalls: number;
  inFlight: number;
}

let child: ChildProcess;
let port: number;
beforeAll(async () => {
  child = fork(fileURLToPath(new URL('./heap-child.ts', import.meta.url)), {
    execArgv: ['--expose-gc'],
  });
  const [first] = (await once(child, 'message')) as [{ port: number }];
  port = first.port;
});
afterAll(() => {
  child.disconnect();
});

async function measure(): Promise<Measured> {
  child.send('measure');
  const [measured] = (await once(child, 'message')) as [Measured];
  return measured;
}

/**
 * Exchanges on one connection. Node's client ends its own connection (ENHANCE_YOUR_CALM) when it has
 * received more than some 10,000 frames of streams that it had already closed.
 */
const perSession = 20_000;

test('after 100,000 exchanges the heap is within 10 % of where it was', async () => {
  const endings: Ending[] = ['complete', 'reset', 'reset-early'];
  async function run(total: number): Promise<void> {
    for (let left = total; left > 0; left -= perSession) {
      const exchanges = Math.min(left, perSession);
      const session = await rawSession(port);
      const result = await drive(session, { total: exchanges, concurrency: 200, endings });
      expect(result).toEqual({ exchanges, failed: 0 });
      session.destroy();
    }
    await waitUntil(async () => (await measure()).openCalls === 0, { what: 'all calls to end' });
  }
  // Code that is compiled and tables that reach their size belong to the baseline.
  await run(10_000);
  const before = await measure();
  await run(100_000);
  const after = await measure();
  expect(after.inFlight).toBe(0);
  expect(after.heapBytes / before.heapBytes).toBeLessThan(1.1);
}, 300_000);
