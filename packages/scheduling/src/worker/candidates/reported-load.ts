const kvWeight = 32;

/**
 * What a report adds to an endpoint's load, in requests: those that no ledger knew of, the waiting
 * ones twice, and 32 × (KV usage)². A new request queues behind waiting ones, but decodes beside
 * running ones. The KV term is small until the cache is nearly full (26 at 90 %), where engines
 * begin to preempt; 32 is a typical batch. Unknown usage (NaN) adds nothing.
 */
export function reportedLoad(unseen: number, unseenWaiting: number, kvCacheUsage: number): number {
  const kvLoad = kvCacheUsage > 0 ? kvWeight * kvCacheUsage * kvCacheUsage : 0;
  return unseen + unseenWaiting + kvLoad;
}
