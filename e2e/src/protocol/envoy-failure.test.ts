/** One of two pickers, or the only one, goes away under load: what clients notice. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { requireEnvoy, waitUntil } from '@leadsman/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from './gateway.ts';
import { startUpstream, type Upstream } from './upstream.ts';

interface PickerProcess {
  port: number;
  process: ChildProcess;
}

const cleanups: (() => unknown)[] = [];
let engines: [Upstream, Upstream];

beforeEach(async () => {
  engines = [await startUpstream(), await startUpstream()];
  for (const engine of engines) {
    cleanups.push(() => engine.stop());
    // Long enough that requests are under way at any moment.
    engine.respond = (_, response) => {
      setTimeout(() => response.end('{}'), 50);
    };
  }
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function startPicker(port = 0): Promise<PickerProcess> {
  const entry = fileURLToPath(new URL('./picker-process.ts', import.meta.url));
  const child = fork(entry, [String(port), engines.map((engine) => engine.address).join()]);
  cleanups.push(() => child.kill('SIGKILL'));
  const [message] = (await once(child, 'message')) as [{ port: number }];
  return { port: message.port, process: child };
}

async function start(
  bootstrap: 'fail-open' | 'fail-close' | 'original-dst',
  pickers: PickerProcess[],
): Promise<Gateway> {
  const gateway = await startGateway({
    bootstrap,
    pickers: pickers.map(({ port }) => port),
    pool: [engines[0].port, engines[1].port],
    plaintext: true,
  });
  cleanups.push(() => gateway.stop());
  return gateway;
}

/** Requests one after another on several lanes until stopped; counts what is not a 200. */
function load(gateway: Gateway, lanes = 8) {
  const result = { sent: 0, failed: 0, failures: [] as string[] };
  function fail(why: string): void {
    result.failed++;
    result.failures.push(why);
  }
  let running = true;
  async function lane(): Promise<void> {
    while (running) {
      result.sent++;
      try {
        const response = await fetch(`${gateway.url}/v1/completions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: '{"model":"m","prompt":"x"}',
        });
        await response.text();
        if (response.status !== 200) fail(String(response.status));
      } catch (error) {
        fail(String((error as Error).cause ?? error));
      }
    }
  }
  const done = Promise.all(Array.from({ length: lanes }, lane));
  return {
    result,
    async more(requests: number): Promise<void> {
      const until = result.sent + requests;
      await waitUntil(() => result.sent >= until, { what: 'more requests', deadlineMs: 60_000 });
    },
    async stop() {
      running = false;
      await done;
      return result;
    },
  };
}

describe.skipIf(!requireEnvoy())('with two pickers behind Envoy', () => {
  test('SIGTERM of one and its return fail no request', async () => {
    const [one, other] = [await startPicker(), await startPicker()];
    const gateway = await start('original-dst', [one, other]);
    const traffic = load(gateway);
    await traffic.more(50);
    one.process.kill('SIGTERM');
    const [code] = await once(one.process, 'exit');
    expect(code).toBe(0);
    await traffic.more(50);
    await startPicker(one.port);
    await waitUntil(async () => (await gateway.stat('cluster.picker.membership_healthy')) === 2, {
      what: 'the picker to be healthy again',
    });
    await traffic.more(50);
    expect((await traffic.stop()).failures).toEqual([]);
  }, 120_000);

  test('kill -9 of one fails at most what was under way, and nothing where it fails open', async () => {
    for (const bootstrap of ['original-dst', 'fail-open'] as const) {
      const [one, other] = [await startPicker(), await startPicker()];
      const gateway = await start(bootstrap, [one, other]);
      const lanes = 8;
      const traffic = load(gateway, lanes);
      await traffic.more(50);
      one.process.kill('SIGKILL');
      await waitUntil(async () => (await gateway.stat('cluster.picker.membership_healthy')) === 1, {
        what: 'Envoy to notice',
        deadlineMs: 30_000,
      });
      await traffic.more(50);
      const { failed, failures } = await traffic.stop();
      // Whatever had not been sent to it yet was sent to the other one.
      if (bootstrap === 'fail-open') expect(failures).toEqual([]);
      expect(failed).toBeLessThanOrEqual(lanes);
      other.process.kill('SIGKILL');
    }
  }, 120_000);
});

describe.skipIf(!requireEnvoy())('without any picker', () => {
  async function statusesWithout(bootstrap: 'fail-open' | 'fail-close'): Promise<Set<number>> {
    const picker = await startPicker();
    const gateway = await start(bootstrap, [picker]);
    picker.process.kill('SIGKILL');
    await once(picker.process, 'exit');
    const before = engines[0].requests.length + engines[1].requests.length;
    const statuses = new Set<number>();
    for (let i = 0; i < 20; i++) {
      const response = await fetch(`${gateway.url}/v1/completions`, { method: 'POST', body: 'x' });
      await response.text();
      statuses.add(response.status);
    }
    served = engines[0].requests.length + engines[1].requests.length - before;
    return statuses;
  }
  let served = 0;

  test('fail-open goes on by plain balancing over all hosts', async () => {
    expect([...(await statusesWithout('fail-open'))]).toEqual([200]);
    expect(served).toBe(20);
    expect(engines.every((engine) => engine.requests.length > 0)).toBe(true);
  });

  test('fail-close answers with an error, and no engine is contacted', async () => {
    const statuses = await statusesWithout('fail-close');
    expect([...statuses].every((status) => status >= 500)).toBe(true);
    expect(served).toBe(0);
  });
});
