import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { createLogger } from '../log.ts';
import type { FixtureMessage, FixtureOrder, FixtureStart } from './fixture/messages.ts';
import { createHeartbeat, HeartbeatReader } from './heartbeat.ts';
import { SharedMemory } from './shared-memory.ts';
import { SupervisedProcess } from './supervised-process.ts';
import { lookIntervalMs, readProcessState, Watchdog } from './watchdog.ts';

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error('condition did not come true');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Whether a process exists and is no zombie. */
function lives(pid: number): boolean {
  const state = readProcessState(pid)?.state;
  return state !== undefined && state !== 'Z' && state !== 'X';
}

function setup(greetings: FixtureOrder[] = []) {
  const memory = SharedMemory.create('test');
  const words = new Int32Array(memory.allocate(64));
  const heartbeat = new HeartbeatReader(createHeartbeat(memory.allocate));
  const watchdog = new Watchdog();
  const heard: FixtureMessage[] = [];
  const exits: number[] = [];
  const waits: string[] = [];
  type Child = SupervisedProcess<FixtureStart, FixtureOrder, FixtureMessage>;
  const child: Child = new SupervisedProcess({
    name: 'child',
    entry: new URL('./fixture/child.ts', import.meta.url),
    nodeOptions: [],
    memory,
    start: () => ({ name: `start-${child.restarts}` }),
    greetings: () => greetings,
    onStart: (pid) => watchdog.begin(0, pid, () => heartbeat.beats),
    onMessage: (message) => heard.push(message),
    onExit: () => exits.push(exits.length),
    wait: { next: () => waits.push('next'), reset: () => {} },
    logger: createLogger({ name: 'test', level: 'silent' }),
  });
  stops.push(async () => {
    await child.stop();
    memory.close();
  });
  child.begin();
  const started = () => heard.filter(({ type }) => type === 'started').length;
  const done = () => heard.filter(({ type }) => type === 'done').length;
  return { child, words, heartbeat, watchdog, heard, exits, waits, started, done };
}

describe('a supervised process', () => {
  it('shares memory with its parent, and loses no addition to it', async () => {
    const { child, words, heard, done } = setup(['read']);
    words[1] = 7;
    await until(() => done() === 1);
    expect(heard[1]).toEqual({ type: 'done', order: 'read', word: 7 });
    child.post('add');
    for (let i = 0; i < 100_000; i++) Atomics.add(words, 0, 1);
    await until(() => done() === 2);
    expect(Atomics.load(words, 0)).toBe(200_000);
  });

  it('is started again, with what it must know, whatever ended it', async () => {
    const { child, exits, waits, heard, started } = setup(['read']);
    await until(() => started() === 1);
    for (const order of ['throw', 'exit'] as const) {
      const before = started();
      child.post(order);
      await until(() => started() === before + 1);
    }
    process.kill(child.pid!, 'SIGKILL');
    await until(() => started() === 4);
    expect(exits).toHaveLength(3);
    expect(waits).toHaveLength(3);
    expect(child.restarts).toBe(3);
    expect(heard.filter(({ type }) => type === 'started')).toMatchObject([
      { name: 'start-0' },
      { name: 'start-1' },
      { name: 'start-2' },
      { name: 'start-3' },
    ]);
  });

  it('is deaf to the signals of a group', async () => {
    const { child, done, started } = setup(['read']);
    await until(() => started() === 1);
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(child.pid!, signal);
    child.post('read');
    await until(() => done() === 2);
    expect(child.restarts).toBe(0);
  });

  it('is not started again once retired', async () => {
    const { child, exits, started } = setup();
    await until(() => started() === 1);
    child.retire();
    child.kill();
    await until(() => exits.length === 1);
    expect(child).toMatchObject({ pid: undefined, restarts: 0 });
  });

  it.each(['spin', 'sleep'] as const)('is found to hang: %s', async (order) => {
    const { child, watchdog, started } = setup([order]);
    await until(() => started() === 1);
    const timer = setInterval(() => {
      for (const _ of watchdog.look()) child.kill();
    }, lookIntervalMs);
    stops.push(async () => clearInterval(timer));
    await until(() => started() === 2);
  });

  it('is found to hang when it is stopped, and has lived until then', async () => {
    const { child, heartbeat, watchdog, started } = setup();
    await until(() => started() === 1);
    const found: number[] = [];
    const timer = setInterval(() => found.push(...watchdog.look()), lookIntervalMs);
    stops.push(async () => clearInterval(timer));
    const before = heartbeat.beats;
    await until(() => heartbeat.beats > before + 5);
    expect(found).toEqual([]);
    process.kill(child.pid!, 'SIGSTOP');
    await until(() => found.length === 1);
  });

  it.each(['read', 'spin'])(
    'ends with its parent, even when it does not listen: %s',
    async (order) => {
      const file = fileURLToPath(new URL('./fixture/orphaning-parent.ts', import.meta.url));
      const parent = spawn(process.execPath, [file, order], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      stops.push(async () => void parent.kill('SIGKILL'));
      const [line] = (await once(parent.stdout, 'data')) as [Buffer];
      const pid = Number(line.toString());
      expect(lives(pid)).toBe(true);
      parent.kill('SIGKILL');
      await until(() => !lives(pid));
    },
  );
});
