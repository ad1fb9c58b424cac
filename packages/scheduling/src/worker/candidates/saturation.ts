/**
 * When a pool has no room for requests that may be refused.
 *
 * Rule: a pool is saturated when it has fresh endpoints and each of them is: `queueRequests` or
 * more wait in its engine, or its fullest rank's KV cache is filled to `kvCacheUsageRatio`. A pool
 * without fresh endpoints is neither saturated nor idle; it is *blind*, and requests are spread.
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

/** Whether one endpoint is saturated; unknown numbers say nothing. */
export function isSaturated(
  table: CandidateTable,
  position: number,
  limits: SaturationLimits,
): boolean {
  return (
    table.waitingRequests[position]! >= limits.queueRequests ||
    table.kvCacheUsageMaxRatio[position]! >= limits.kvCacheUsageRatio
  );
}

/** Whether every fresh endpoint of the pool is saturated, and there is one. */
export function isPoolSaturated(table: CandidateTable, limits: SaturationLimits): boolean {
  if (table.classCounts[trust.fresh] === 0) return false;
  for (let i = 0; i < table.preferredCount; i++) {
    if (!isSaturated(table, table.preferred[i]!, limits)) return false;
  }
  return true;
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
  return isPoolSaturated(table, limits);
}
