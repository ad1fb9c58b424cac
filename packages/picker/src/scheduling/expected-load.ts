/**
 * What an endpoint probably has to do right now, between two reports:
 *
 *   requests = ledger now + max(0, reported − ledger at the time of the report)
 *
 * The ledger counts what pickers sent at once; the second term is other traffic, which only the
 * engine can see. A request that a report has caught up with is in both the report and the ledger
 * of its time, so it is never counted twice; one that ended leaves the ledger at once.
 */
import type { PickContext } from './part.ts';

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

/** Requests waiting or running, those of other traffic included. */
export function expectedRequests(context: PickContext, position: number): number {
  const { table, ledger } = context;
  return table.unseenRequests[position]! + ledger.requests(table.index[position]!);
}

/** Ledger requests that the latest report cannot have in it. */
export function sentSinceReport(context: PickContext, position: number): number {
  const { table, ledger } = context;
  const since = ledger.requests(table.index[position]!) - table.ledgerAtReport[position]!;
  return Math.max(0, since);
}
