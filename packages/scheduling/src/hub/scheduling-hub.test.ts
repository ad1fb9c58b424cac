/** Reloads through the hub, with real worker schedulings at the other end of the messages. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@leadsman/service';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeGauges } from '../fixture/fake-gauges.ts';
import { endpointsOf, poolUpdate, requestFacts } from '../fixture/scheduler-rig.ts';
import { seededRandom } from '../random.ts';
import { emptyPick } from '../scheduler.ts';
import { createInFlightBuffer, InFlightTable } from '../shared/in-flight-table.ts';
import type { SchedulingToWorker } from '../shared/messages.ts';
import { createSchedulingMemory } from '../shared/shared-memory.ts';
import { WorkerScheduling } from '../worker/worker-scheduling.ts';
import { SchedulingHub } from './scheduling-hub.ts';
import { registerSchedulingMetrics } from './scheduling-metrics.ts';
import { ConfigSource } from './strategy-file/config-source.ts';

let directory: string;
let file: string;
const stops: (() => unknown)[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'leadsman-hub-'));
  file = join(directory, 'strategy.yaml');
});
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
  await rm(directory, { recursive: true });
});

/** Workers of a hub, and what a test may do to them. */
async function start(config: string, workers = 2) {
  await writeFile(file, config);
  const source = new ConfigSource({ file, strategy: 'random' });
  const loaded = await source.load();
  const shape = { endpointsMax: 64, workers };
  const inFlight = createInFlightBuffer(shape);
  const memory = createSchedulingMemory(64, workers, loaded.config.prefixIndex);
  const threads: WorkerScheduling[] = [];
  const state = { restarts: 0, onPost: (_: SchedulingToWorker) => Promise.resolve() };
  const hub: SchedulingHub = new SchedulingHub({
    source,
    loaded,
    memory,
    inFlight: new InFlightTable(inFlight, shape, -1),
    transport: undefined,
    replicaName: 'a',
    epoch: 1,
    workers: () => threads.length,
    restarts: () => state.restarts,
    post: (message: SchedulingToWorker) => {
      const before = state.onPost(message);
      for (const [worker, thread] of threads.entries()) {
        if (message.type === 'scheduling') {
          void before.then(() => thread.configure(message.version, message.config));
        } else hub.receive(worker, { type: message.type, snapshot: thread.snapshot() });
      }
    },
    clock: () => 0,
    logger: createLogger({ name: 'test', level: 'silent' }),
  });
  const startThread = async (worker: number) => {
    const thread = await WorkerScheduling.open({
      worker,
      source: new FakeGauges(),
      inFlight: new InFlightTable(inFlight, shape, worker),
      memory,
      config: hub.config,
      random: seededRandom(worker),
      clock: () => 0,
      post: (message) => hub.receive(worker, message),
    });
    thread.scheduler.updatePool(poolUpdate(endpointsOf(4)), 0);
    threads[worker] = thread;
    stops.push(() => thread.stop());
  };
  for (let worker = 0; worker < workers; worker++) await startThread(worker);
  stops.push(() => hub.stop());
  const destinations = (count: number): string[] =>
    Array.from({ length: count }, (_, i) => {
      const pick = emptyPick();
      threads[i % workers]!.scheduler.pick(requestFacts(), pick);
      return pick.destination;
    });
  return { hub, threads, destinations, startThread, state };
}

describe('a reload', () => {
  const module = (at: number): string =>
    `export default { kind: 'pick', name: 'fixed', create: () => ({ choose: () => ${at} }) };`;
  const config =
    'extensions: [{ module: fixed.mjs }]\ndefault: { scorers: [{ type: queue }], pick: fixed }';

  it('swaps a changed module into every worker, requests in flight stay counted', async () => {
    await writeFile(join(directory, 'fixed.mjs'), module(1));
    const { hub, threads, destinations } = await start(config);
    expect(new Set(destinations(6))).toEqual(new Set(['10.0.0.1:8000']));
    await writeFile(join(directory, 'fixed.mjs'), module(3));
    expect(await hub.reload()).toEqual({ ok: true, warnings: [] });
    expect(new Set(destinations(6))).toEqual(new Set(['10.0.0.3:8000']));
    expect(threads.map(({ scheduler }) => scheduler.tickets.open)).toEqual([6, 6]);
  });

  it('reaches a thread that was started again meanwhile, with the former one', async () => {
    await writeFile(join(directory, 'fixed.mjs'), module(1));
    const { hub, destinations, startThread, state } = await start(config);
    await writeFile(join(directory, 'fixed.mjs'), module(3));
    state.onPost = ({ type }) => {
      if (type !== 'scheduling' || state.restarts > 0) return Promise.resolve();
      // Its predecessor answers and dies; the successor knows what hub.config says now.
      state.restarts++;
      return startThread(1);
    };
    expect((await hub.reload()).ok).toBe(true);
    expect(new Set(destinations(6))).toEqual(new Set(['10.0.0.3:8000']));
  });

  it('fails on a part of a pool that is not there yet', async () => {
    await writeFile(
      join(directory, 'late.mjs'),
      // As a module that looks for something which only the main thread has.
      `let made = 0;
       export default { kind: 'pick', name: 'late', create: () => {
         if (++made > 1) throw new Error('not here');
         return { choose: () => 0 };
       } };`,
    );
    const { hub, destinations } = await start('default: { strategy: random }');
    await writeFile(
      file,
      'extensions: [{ module: late.mjs }]\npools: { later: { scorers: [{ type: queue }], pick: late } }',
    );
    const result = await hub.reload();
    expect(result).toMatchObject({ ok: false });
    expect(JSON.stringify(result)).toContain('not here');
    expect(destinations(4)).not.toContain('');
  });

  it('that is refused leaves the last good configuration in place', async () => {
    await writeFile(join(directory, 'fixed.mjs'), module(2));
    const { hub, destinations } = await start(config);
    await writeFile(file, 'default: { strategy: nonsense }');
    const refused = await hub.reload();
    expect(refused).toMatchObject({ ok: false });
    expect(JSON.stringify(refused)).toContain('unknown strategy');
    await writeFile(file, config);
    await writeFile(join(directory, 'fixed.mjs'), 'nonsense(');
    expect(await hub.reload()).toMatchObject({ ok: false });
    expect(new Set(destinations(4))).toEqual(new Set(['10.0.0.2:8000']));
    expect([hub.reloads, hub.reloadsFailed]).toEqual([0, 2]);
  });

  it('tells what only a new start can change', async () => {
    const { hub } = await start('');
    await writeFile(file, 'replicas: { shareIntervalMs: 50 }');
    expect(await hub.reload()).toEqual({
      ok: true,
      warnings: ['replicas takes effect at the next start'],
    });
  });

  it('comes by itself when the file changes', async () => {
    const { hub } = await start('default: { strategy: random }');
    hub.start();
    await writeFile(file, 'default: { strategy: least-load, retryAfterS: 3 }');
    const deadline = performance.now() + 10_000;
    while (hub.reloads === 0) {
      if (performance.now() > deadline) throw new Error('the change was not noticed');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(hub.config.default.retryAfterS).toBe(3);
  });
});

describe('the metrics page', () => {
  it('shows picks, states and blindness per pool', async () => {
    const { hub, threads, destinations } = await start('default: { strategy: random }');
    destinations(10);
    for (const [worker, thread] of threads.entries()) {
      hub.receive(worker, { type: 'scheduling-snapshot', snapshot: thread.snapshot() });
    }
    const registry = new Registry();
    registerSchedulingMetrics(registry, hub, () => 0);
    const page = await registry.metrics();
    expect(page).toContain(
      'leadsman_picker_scheduling_outcomes_total{pool="test/pool",outcome="random"} 10',
    );
    expect(page).toContain('leadsman_picker_pool_blind{pool="test/pool"} 1');
    expect(page).toContain('leadsman_picker_pool_saturated{pool="test/pool"} 0');
    expect(page).toContain('leadsman_picker_last_resort_picks_total{pool="test/pool"} 10');
  });

  it('never counts backwards when a worker ends, and forgets a pool that was removed', async () => {
    const { hub, threads, destinations, startThread } = await start(
      'default: { strategy: random }',
    );
    const registry = new Registry();
    registerSchedulingMetrics(registry, hub, () => 0);
    const outcomes = async (): Promise<string> => {
      for (const [worker, thread] of threads.entries()) {
        hub.receive(worker, { type: 'scheduling-snapshot', snapshot: thread.snapshot() });
      }
      const page = await registry.metrics();
      return /scheduling_outcomes_total\{.*\} (\d+)/.exec(page)?.[1] ?? 'none';
    };
    destinations(10);
    expect(await outcomes()).toBe('10');
    for (const count of ['10', '14']) {
      hub.forgetWorker(1);
      await startThread(1);
      expect(await outcomes()).toBe(count);
      destinations(4);
      await outcomes();
    }
    for (const [worker, thread] of threads.entries()) {
      thread.scheduler.removePool('test/pool');
      hub.forgetWorker(worker);
    }
    hub.poolsChanged([], ['test/pool']);
    expect(await outcomes()).toBe('none');
  });
});
