/** What keeps happening in a cluster: pods leave and come, brokers and agents restart, clients give up. */
import { setTimeout as delay } from 'node:timers/promises';
import { SeededRandom } from '@leadsman/testing';
import { Pool } from 'undici';
import type { FaultSystem } from '../faults/fault-system.ts';

/** Between two events. */
const pauseMs = 4_000;
const graceMs = 2_000;

export interface Churn {
  /** How often each thing happened. */
  readonly counts: Readonly<Record<string, number>>;
  stop(): Promise<void>;
}

/** The last pod comes and goes; node 0's agent, its first sidecar and NATS restart, in turn. */
export function startChurn(system: FaultSystem): Churn {
  const { rig } = system;
  const last = rig.pods.at(-1)!;
  const events: Record<string, () => Promise<void>> = {
    'a pod left and came': async () => {
      await rig.setMembers(rig.pods.slice(0, -1));
      await delay(graceMs);
      await rig.sidecars[last.index]!.stop();
      await rig.engines.processes[last.index]!.stop();
      await delay(graceMs);
      await rig.engines.restart(last.index);
      await rig.startSidecar(last.index);
      await rig.setMembers(rig.pods);
    },
    'NATS restarted': async () => {
      await rig.nats!.stop();
      await rig.restartNats();
    },
    'an agent restarted': async () => {
      await rig.agents[0]!.stop();
      await rig.startAgent(0);
    },
    'a sidecar died': async () => {
      rig.sidecars[0]!.process.kill();
      await rig.sidecars[0]!.process.exited;
      await rig.startSidecar(0);
    },
  };
  const counts: Record<string, number> = {};
  const stopping = new AbortController();
  const { signal } = stopping;
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      for (const [what, event] of Object.entries(events)) {
        await delay(pauseMs, undefined, { signal }).catch(() => {});
        if (signal.aborted) return;
        await event();
        counts[what] = (counts[what] ?? 0) + 1;
      }
    }
  };
  const done = run();
  return {
    counts,
    stop: async () => {
      stopping.abort();
      await done;
    },
  };
}

const resetAfterMsMax = 60;

export interface Resets {
  readonly count: number;
  stop(): Promise<void>;
}

/** Clients that go away in the middle, a few at any time. */
export function startResets(url: string, clients: number): Resets {
  const random = new SeededRandom(5);
  const pool = new Pool(url, { connections: clients });
  let running = true;
  let count = 0;
  const one = async (): Promise<void> => {
    while (running) {
      const gone = AbortSignal.timeout(1 + Math.floor(random.next() * resetAfterMsMax));
      await pool.request(longRequest(200, gone)).then(
        ({ body }) => body.dump().catch(() => {}),
        () => {},
      );
      count++;
      await delay(50);
    }
  };
  const done = Promise.all(Array.from({ length: clients }, one));
  return {
    get count() {
      return count;
    },
    stop: async () => {
      running = false;
      await done;
      await pool.destroy();
    },
  };
}

/** A streamed chat request of so many tokens. */
export function longRequest(outputTokens: number, signal: AbortSignal) {
  return {
    method: 'POST' as const,
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      messages: [{ role: 'user', content: 'by the mark' }],
      ...{ max_tokens: outputTokens, stream: true },
    }),
    signal,
  };
}
