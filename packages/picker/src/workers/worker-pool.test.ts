import { createLogger } from '@leadsman/service';
import { afterEach, expect, it } from 'vitest';
import { WorkerPool } from './worker-pool.ts';

const entry = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort, workerData } from 'node:worker_threads';
    parentPort.on('message', (message) => {
      if (message === 'die') throw new Error('on purpose');
      if (message === 'hang') for (;;);
      parentPort.postMessage(workerData.name + ':' + message);
    });`)}`,
);

let pool: WorkerPool<string, string> | undefined;
afterEach(() => pool?.stop());

async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error('condition did not come true');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

function start(heard: string[], exits: number[]): WorkerPool<string, string> {
  pool = new WorkerPool<string, string>({
    count: 2,
    entry,
    dataFor: (worker) => ({ name: `w${worker}` }),
    greetings: () => ['hello'],
    onMessage: (_, message) => heard.push(message),
    onExit: (worker) => exits.push(worker),
    logger: createLogger({ name: 'test', level: 'silent' }),
  });
  pool.start(0);
  pool.start(1);
  return pool;
}

it('tells all threads the same, and starts a dead one again with what it must know', async () => {
  const heard: string[] = [];
  const exits: number[] = [];
  const pool = start(heard, exits);
  await until(() => heard.length === 2);
  pool.post('again');
  await until(() => heard.length === 4);
  expect([...heard].sort()).toEqual(['w0:again', 'w0:hello', 'w1:again', 'w1:hello']);
  pool.postTo(1, 'die');
  await until(() => heard.length === 5);
  expect(heard[4]).toBe('w1:hello');
  expect(exits).toEqual([1]);
  expect(pool).toMatchObject({ restarts: 1, running: 2 });
});

it('starts nothing again once it is retired', async () => {
  const exits: number[] = [];
  const pool = start([], exits);
  pool.retire();
  pool.postTo(1, 'die');
  await until(() => exits.length === 1);
  expect(pool).toMatchObject({ restarts: 0, running: 1 });
});

it('shows which thread hangs', async () => {
  const heard: string[] = [];
  const pool = start(heard, []);
  await until(() => heard.length === 2);
  pool.postTo(1, 'hang');
  await until(() => (pool.utilization().get(1) ?? 0) > 0.99);
  expect(pool.utilization().get(0)).toBeLessThan(0.5);
  await pool.thread(0)!.terminate();
  await until(() => !pool.utilization().has(0));
});
