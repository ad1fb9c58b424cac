/**
 * A rolling restart of everything while the fleet reports: each NATS server in turn, the agents by
 * thirds, the collector's thread. After each step the time is taken until every pod's number is
 * as young again as it was before.
 */
import { monotonicMs } from '@leadsman/service';
import type { FleetOptions } from './options.ts';
import type { FleetSystem } from './system.ts';

export interface RollingStep {
  what: string;
  /** Until the last pod was fresh again, ms from the moment the step began. */
  freshAgainMs: number;
  /** How far behind the worst pod was meanwhile, ms. */
  worstAgeMs: number;
}

/** A step that takes longer has failed. */
const deadlineMs = 20_000;
/** Looked at after a step even when nothing seems to happen, ms: outages take time to show. */
const watchMs = 4_000;

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export async function roll(system: FleetSystem, options: FleetOptions): Promise<RollingStep[]> {
  const steps: RollingStep[] = [];
  // The worst of a thousand pods is at twice the interval without any restart; what is above this
  // is none of the machine's usual noise.
  const freshMs = 3 * options.plan.intervalMs + 100;
  const step = async (what: string, action: () => Promise<unknown>) => {
    steps.push({ what, ...(await watch(system, action, freshMs)) });
  };
  const brokers = system.brokers;
  for (let i = 0; i < (brokers?.count ?? 0); i++) {
    await step(`nats server ${i + 1}`, async () => brokers?.restart(i));
  }
  const nodes = Array.from({ length: options.plan.nodes }, (_, node) => node);
  for (let third = 0; third < 3; third++) {
    await step(`agents, third ${third + 1}`, async () => {
      system.command({ type: 'restart', nodes: nodes.filter((node) => node % 3 === third) });
    });
  }
  await step('collector', async () => {
    process.kill(system.collector.pid ?? process.pid, 'SIGKILL');
  });
  return steps;
}

async function watch(system: FleetSystem, action: () => Promise<unknown>, freshMs: number) {
  const beganMs = monotonicMs();
  let lastStaleMs = beganMs;
  let worstAgeMs = 0;
  let acting = true;
  void action().finally(() => {
    acting = false;
  });
  for (;;) {
    await sleep(5);
    const nowMs = monotonicMs();
    const ageMs = system.reader.worstAgeMs(nowMs);
    worstAgeMs = Math.max(worstAgeMs, ageMs);
    if (ageMs > freshMs) lastStaleMs = nowMs;
    if (nowMs - beganMs > deadlineMs) break;
    if (!acting && nowMs - lastStaleMs > 1_000 && nowMs - beganMs > watchMs) break;
  }
  return {
    freshAgainMs: Math.round(lastStaleMs - beganMs),
    worstAgeMs: Math.round(worstAgeMs),
  };
}
