/**
 * When a pool has no room for requests that may be refused.
 *
 * Rule: a pool is saturated when it has fresh endpoints and each of them is: `queueRequests` or
 * more wait in its engine, counting what was sent since its report, or its fullest rank's KV cache
 * is filled to `kvCacheUsageRatio`. A pool without fresh endpoints is neither saturated nor idle; it
 * is *blind*, and requests are spread.
 */

import { trust } from '@leadsman/view/trust';
import type { CandidateTable } from './candidate-table.ts';

export interface SaturationLimits {
  queueRequests: number;
  kvCacheUsageRatio: number;
}

export const saturationLimitsDefault: SaturationLimits = {
  queueRequests: 5,
  kvCacheUsageRatio: 0.8,
};

/** Requests that an engine where nothing waits is expected to take at once, beside what it runs. */
const batchRoom = 32;

/**
 * Requests that wait in the engine, with those sent since its report: all of them where some wait
 * already; where none does, those beyond what it runs, or {@link batchRoom}. NaN = unknown.
 */
function expectedWaiting(table: CandidateTable, position: number): number {
  const waiting = table.waitingRequests[position]!;
  const running = table.runningRequests[position]!;
  const room = waiting > 0 ? 0 : Math.max(batchRoom, Number.isNaN(running) ? 0 : running);
  return waiting + Math.max(0, table.sentSinceReport(position) - room);
}

/** Whether one endpoint is saturated; unknown numbers say nothing. */
export function isSaturated(
  table: CandidateTable,
  position: number,
  limits: SaturationLimits,
): boolean {
  return (
    expectedWaiting(table, position) >= limits.queueRequests ||
    isReportedSaturated(table, position, limits)
  );
}

/** Whether every fresh endpoint of the pool is saturated, and there is one. */
export function isPoolSaturated(table: CandidateTable, limits: SaturationLimits): boolean {
  return isEachFresh(table, limits, isSaturated);
}

/**
 * Whether the pool must fall back on stale endpoints although some are fresh: most of it is not
 * fresh, and those that are have no room. Then reports fail to come, not pods: a node agent is
 * down, say. Without this the last few that still report would get every request of the pool.
 * While most are fresh, the one that fell silent is the likely fault and stays the last resort.
 */
export function isFeedFailing(table: CandidateTable, limits: SaturationLimits): boolean {
  const fresh = table.classCounts[trust.fresh]!;
  if (table.classCounts[trust.stale] === 0 || fresh * 2 >= table.count) return false;
  // By the reports alone: what was sent since comes and goes with every report.
  return isEachFresh(table, limits, isReportedSaturated);
}

function isReportedSaturated(
  table: CandidateTable,
  position: number,
  limits: SaturationLimits,
): boolean {
  return (
    table.waitingRequests[position]! >= limits.queueRequests ||
    table.kvCacheUsageMaxRatio[position]! >= limits.kvCacheUsageRatio
  );
}

function isEachFresh(
  table: CandidateTable,
  limits: SaturationLimits,
  holds: typeof isSaturated,
): boolean {
  if (table.classCounts[trust.fresh] === 0) return false;
  for (let i = 0; i < table.preferredCount; i++) {
    if (!holds(table, table.preferred[i]!, limits)) return false;
  }
  return true;
}
