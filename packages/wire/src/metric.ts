/**
 * The numbers of a report by position: word `metric.x` of its metrics part. A position never
 * changes its meaning, and numbers are only ever added at the end: each makes a report 8 bytes
 * longer, and readers of every version go on (report.ts). What a new one needs beside its line
 * here: new golden bytes, and somebody who knows it (an engine's profile).
 *
 * Every number is a float64, and NaN means unknown: unknown is a state, never 0. Names end in
 * their unit. Totals are counters of the engine since its start.
 */
export const metric = {
  runningRequests: 0,
  waitingRequests: 1,
  /** Of the waiting ones, those waiting for KV capacity. */
  waitingCapacityRequests: 2,
  /** Of the waiting ones, those deferred (a remote KV transfer, a grammar). */
  waitingDeferredRequests: 3,
  swappedRequests: 4,
  /** Capacity-weighted mean over the ranks, 0..1: for scoring. */
  kvCacheUsageRatio: 5,
  /** The fullest rank, 0..1: for saturation. */
  kvCacheUsageMaxRatio: 6,
  kvCacheCapacityTokens: 7,
  kvBlockTokens: 8,
  /** Blocks or tokens by engine version; only the ratio to the queries means something. */
  prefixCacheHitsTotal: 9,
  prefixCacheQueriesTotal: 10,
  /** As stated by engines that expose a ratio and no counters, 0..1. */
  prefixCacheHitRatio: 11,
  promptTokensTotal: 12,
  generationTokensTotal: 13,
  requestsSuccessTotal: 14,
  preemptionsTotal: 15,
  ttftSecondsSum: 16,
  ttftCount: 17,
  interTokenSecondsSum: 18,
  interTokenCount: 19,
  /** Adapters that may be loaded at once. */
  loraSlotsMax: 20,
  /** How long the latest successful scrape took, the engine's share of it included. */
  scrapeDurationMs: 21,
  /** The time to the next scrape that the sender plans. */
  scrapeIntervalMs: 22,
  // Version 2.
  /** Capacity of the KV cache as the engine itself states it, tokens; not computed from blocks. */
  kvCapacityTokens: 23,
  /** State that is not KV (hybrid models), 0..1 of its room: for saturation only. */
  stateUsageRatio: 24,
  /** Of the KV cache, what transfers to or from other engines hold, 0..1. */
  kvTransferPinnedRatio: 25,
  /** The largest batch: requests that the engine runs at once at most. */
  runningMax: 26,
} as const;

export type MetricName = keyof typeof metric;

/** What a number may be, and how several make one: the rules are in scrape's engine/unit.ts. */
export type MetricUnit = 'requests' | 'total' | 'capacity' | 'ratio' | 'size';

export const unitOfMetric: Readonly<Record<MetricName, MetricUnit>> = {
  runningRequests: 'requests',
  waitingRequests: 'requests',
  waitingCapacityRequests: 'requests',
  waitingDeferredRequests: 'requests',
  swappedRequests: 'requests',
  kvCacheUsageRatio: 'ratio',
  kvCacheUsageMaxRatio: 'ratio',
  kvCacheCapacityTokens: 'capacity',
  kvBlockTokens: 'size',
  prefixCacheHitsTotal: 'total',
  prefixCacheQueriesTotal: 'total',
  prefixCacheHitRatio: 'ratio',
  promptTokensTotal: 'total',
  generationTokensTotal: 'total',
  requestsSuccessTotal: 'total',
  preemptionsTotal: 'total',
  ttftSecondsSum: 'total',
  ttftCount: 'total',
  interTokenSecondsSum: 'total',
  interTokenCount: 'total',
  loraSlotsMax: 'size',
  scrapeDurationMs: 'size',
  scrapeIntervalMs: 'size',
  kvCapacityTokens: 'capacity',
  stateUsageRatio: 'ratio',
  kvTransferPinnedRatio: 'ratio',
  runningMax: 'capacity',
};

export const metricNames = Object.keys(metric) as readonly MetricName[];
export const metricsCount = metricNames.length;
