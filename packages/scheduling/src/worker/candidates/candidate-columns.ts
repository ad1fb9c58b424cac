/**
 * The numbers of a pool's endpoints as flat columns by candidate position. Filters, scorers and
 * picks read them; only the table writes them.
 *
 * NaN is unknown in every float column. A position is valid for one membership of the pool.
 */
import type { Endpoint } from '../../endpoint.ts';

export interface CandidateColumns {
  /** Positions in use: 0 … count − 1. */
  readonly count: number;
  readonly endpoints: readonly Endpoint[];
  /** In-flight index of each candidate. */
  readonly index: Int32Array;
  /** Stable hash of pod and port: the same in every worker, replica and restart. */
  readonly identityHash: Int32Array;
  /** `trust.x`. */
  readonly trust: Uint8Array;
  /** As reported. */
  readonly runningRequests: Float64Array;
  readonly waitingRequests: Float64Array;
  /** Capacity-weighted mean over the engine's ranks, 0..1. */
  readonly kvCacheUsageRatio: Float64Array;
  /** The fullest rank, 0..1. */
  readonly kvCacheUsageMaxRatio: Float64Array;
  readonly kvCacheCapacityTokens: Float64Array;
  readonly loraSlotsMax: Float64Array;
  readonly measuredAtMs: Float64Array;
  /**
   * Reported requests that no picker's ledger knew of at the time of the report: other traffic.
   * 0 where nothing fresh is known. `unseenWaiting` of them wait.
   */
  readonly unseenRequests: Float64Array;
  readonly unseenWaiting: Float64Array;
  /** What the report alone adds to the endpoint's load, see `reportedLoad`. */
  readonly reportedLoad: Float64Array;
  /** Ledger requests at the time of the report. */
  readonly ledgerAtReport: Float64Array;
  /** Requests it ran at once when it was last seen full (full-batch.ts); NaN: never. */
  readonly fullBatch: Float64Array;
  /** Smoothed time between two tokens of a request, ms. */
  readonly interTokenMs: Float64Array;
  /** Learned speed relative to the pool's median, ¼ … 4; 1 while unknown. */
  readonly speed: Float64Array;
}

/** The columns that are float64, in one place so that all are grown and carried over alike. */
export const floatColumns = [
  'runningRequests',
  'waitingRequests',
  'kvCacheUsageRatio',
  'kvCacheUsageMaxRatio',
  'kvCacheCapacityTokens',
  'loraSlotsMax',
  'measuredAtMs',
  'unseenRequests',
  'unseenWaiting',
  'reportedLoad',
  'ledgerAtReport',
  'fullBatch',
  'interTokenMs',
  'speed',
] as const;

/** What a float column holds before anything is known. */
export function blankOf(column: (typeof floatColumns)[number]): number {
  if (column === 'speed') return 1;
  const isCount = column === 'ledgerAtReport' || column === 'reportedLoad';
  return isCount || column.startsWith('unseen') ? 0 : Number.NaN;
}
