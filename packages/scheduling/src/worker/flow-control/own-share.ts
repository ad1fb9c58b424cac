/**
 * Workers do not see each other's queues. One that sends the next request as soon as one of its own
 * ends keeps a full pool full, and another one's gate never opens. So a worker whose requests wait,
 * and which has less than its share of what is in flight in the pool, lets one go in spite of a
 * closed gate from time to time. The others then find the gate closed for as long, and its share has
 * moved.
 *
 * The endpoints hold more than they should by the requests that are on their way from one share to
 * another: at most one for each worker and {@link shareIntervalMs}.
 */
import type { CandidateTable } from '../candidates/candidate-table.ts';
import type { Ledger } from '../candidates/ledger.ts';

/** How long a request waits before its worker looks, and the time between two looks, ms. */
export const shareIntervalMs = 100;

/** `ownRequests`: what this worker has in flight in the pool. Cost: one pass over the pool. */
export function isBelowShare(table: CandidateTable, ledger: Ledger, ownRequests: number): boolean {
  const { workers } = ledger;
  if (workers <= 1) return false;
  let inFlight = 0;
  for (let position = 0; position < table.count; position++) {
    inFlight += ledger.requests(table.index[position]!);
  }
  if (inFlight <= ownRequests) return false;
  // One at least, also where there are more workers than requests.
  return ownRequests === 0 || (ownRequests + 1) * workers <= inFlight;
}
