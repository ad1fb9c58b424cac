/**
 * The numbers of a report by position: word `metric.x` of its metrics part. A position never
 * changes its meaning. All words of a version 1 report are taken: one more number makes the report
 * longer, which is a new version (report.ts checks that they fit).
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
} as const;

export type MetricName = keyof typeof metric;

export const metricNames = Object.keys(metric) as readonly MetricName[];
export const metricsCount = metricNames.length;
