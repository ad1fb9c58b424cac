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
