/** One cell of the table: traffic, the fault, the part's return, and all whole again. */
import { setTimeout as delay } from 'node:timers/promises';
import { AgeWatch } from './age-watch.ts';
import { startArrivals } from './arrivals.ts';
import { type Cell, type Outcome, requestsPerSecond, slowMs } from './cell.ts';
import type { FaultSystem } from './fault-system.ts';

export interface CellTimes {
  /** Traffic before the fault and after the recovery, ms. */
  settleMs: number;
  /** How long a stopped process stands still, ms. */
  stopMs: number;
  /** From a process's end to its successor's start, ms. */
  awayMs: number;
}

const wholeDeadlineMs = 60_000;

export async function runCell(
  system: FaultSystem,
  cell: Cell,
  times: CellTimes,
  seed: number,
): Promise<Outcome> {
  await system.untilWhole(wholeDeadlineMs);
  const arrivals = startArrivals(system.gateway.url, requestsPerSecond, seed);
  await delay(times.settleMs);
  const watch = new AgeWatch(() => system.rig.pickers.map(({ adminUrl }) => adminUrl));
  const victim = system.victim(cell.part);
  const heldByEngine = cell.part === 'engine' ? await system.heldByEngine() : 0;
  const faultMs = performance.now();
  for (const pid of victim.pids) process.kill(pid, cell.fault);
  // Its picker starts it again by itself, but for SIGTERM: that one the picker alone obeys.
  const itself = victim.ended === undefined;
  const lost = itself && cell.fault !== 'SIGTERM' ? victim.pids[0] : undefined;
  if (cell.fault === 'SIGSTOP') {
    const healed = itself ? wholeAfter(system, faultMs, lost) : undefined;
    await delay(times.stopMs);
    if (healed !== undefined) return finish(await healed);
    for (const pid of victim.pids) process.kill(pid, 'SIGCONT');
  } else if (victim.ended !== undefined) {
    await victim.ended;
    await delay(times.awayMs);
    await victim.replace();
  }
  return finish(await wholeAfter(system, itself ? faultMs : performance.now(), lost));

  async function finish(wholeMs: number): Promise<Outcome> {
    await delay(times.settleMs);
    await watch.stop();
    await arrivals.stop();
    const failed = arrivals.ended.filter(({ failure }) => failure !== undefined);
    const failures: Record<string, number> = {};
    for (const { failure } of failed) failures[failure!] = (failures[failure!] ?? 0) + 1;
    const served = arrivals.ended.filter(({ failure }) => failure === undefined);
    return {
      ...cell,
      requests: arrivals.ended.length,
      failed: failed.length,
      failedUnderWay: failed.filter(({ sentMs }) => sentMs < faultMs).length,
      heldByEngine,
      slow: served.filter(({ totalMs }) => totalMs > slowMs).length,
      slowestMs: served.reduce((most, { totalMs }) => Math.max(most, totalMs), 0),
      oldestMs: watch.oldestMs,
      oldestFreshMs: watch.oldestFreshMs,
      wholeMs,
      failures,
    };
  }
}

/** Ms from `sinceMs` until all is whole; NaN when that takes too long. */
async function wholeAfter(
  system: FaultSystem,
  sinceMs: number,
  lost: number | undefined,
): Promise<number> {
  try {
    await system.untilWhole(wholeDeadlineMs, sinceMs, lost);
    return performance.now() - sinceMs;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    return Number.NaN;
  }
}
