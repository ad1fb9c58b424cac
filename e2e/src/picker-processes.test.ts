/**
 * Each process of a picker dies or stands still under load through Envoy: its workers, one after
 * the other, and its collector. What was open in a worker ends with it, nothing else does.
 */
import { readFileSync } from 'node:fs';
import { Rig, requireEnvoy, requireNats, waitUntil } from '@leadsman/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startLoad } from './load.ts';
import { expectRecovery, waitForCompleteView } from './view.ts';

const ready = [requireEnvoy(), requireNats()].every(Boolean);
const clients = 6;

describe.skipIf(!ready)("a picker's processes", () => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await Rig.start({
      ...{ nodes: 1, podsPerNode: 3, subnet: 24, engine: { speed: 4 } },
      pickerFlags: { workers: 2 },
    });
    await waitForCompleteView(rig, rig.picker!.adminUrl);
  }, 120_000);

  afterAll(() => rig?.stop());

  const metric = async (name: string): Promise<number> => {
    const page = await (await fetch(`${rig.picker!.adminUrl}/metrics`)).text();
    return Number(new RegExp(`^${name}(?:\\{.*\\})? (\\d+)$`, 'm').exec(page)?.[1]);
  };
  const childrenOf = (pid: number): number[] =>
    readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ').map(Number);
  const child = (title: string): number | undefined =>
    childrenOf(rig.picker!.process.pid).find((pid) =>
      readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith(`leadsman-picker-${title}`),
    );

  const faults = [0, 1].flatMap((worker) =>
    (['SIGKILL', 'SIGSTOP'] as const).map((signal) => ({ worker, signal })),
  );
  it.each(faults)('worker $worker gets $signal: the other one serves on', async (fault) => {
    const other = child(`worker-${1 - fault.worker}`);
    const restarts = await metric('leadsman_picker_worker_restarts_total');
    const load = startLoad(rig, clients);
    await load.more(30);
    process.kill(child(`worker-${fault.worker}`)!, fault.signal);
    await load.more(60);
    await waitUntil(
      async () => (await metric('leadsman_picker_worker_restarts_total')) === restarts + 1,
      { what: 'another worker' },
    );
    await waitUntil(() => child(`worker-${fault.worker}`) !== undefined, { what: 'its begin' });
    await load.more(60);
    await load.load.stop();
    // What each client had open may have been in the worker; whatever came later was not.
    expect(load.load.failures.length).toBeLessThanOrEqual(clients);
    expect(child(`worker-${1 - fault.worker}`)).toBe(other);
    await waitUntil(async () => (await metric('leadsman_picker_pool_in_flight')) === 0, {
      what: 'nothing in flight',
    });
  });

  it.each(['SIGKILL', 'SIGSTOP'] as const)(
    'the collector gets %s: no request fails',
    async (signal) => {
      const restarts = await metric('leadsman_picker_collector_restarts_total');
      const load = startLoad(rig, clients);
      await load.more(20);
      await waitUntil(() => child('collector') !== undefined, { what: 'a collector' });
      process.kill(child('collector')!, signal);
      await load.more(30);
      await waitUntil(
        async () => (await metric('leadsman_picker_collector_restarts_total')) === restarts + 1,
        { what: 'another collector' },
      );
      await expectRecovery(rig, rig.picker!.adminUrl);
      await load.more(30);
      await load.stopWithoutFailure();
    },
  );

  it('ends all of them when its main process is killed', async () => {
    const { pid } = rig.picker!.process;
    const children = childrenOf(pid);
    expect(children).toHaveLength(3);
    rig.picker!.process.kill('SIGKILL');
    await waitUntil(() => children.every((each) => !isAlive(each)), { what: 'their end' });
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
