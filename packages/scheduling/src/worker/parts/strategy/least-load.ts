/**
 * The least load by the engine's own numbers and what was sent since:
 *
 *   cost = reported load + requests sent + requests sent without a first token
 *
 * in requests: see `reportedLoad` for the first term, which the table has ready, and the ledger for
 * the others. A request without a first token counts twice, as a waiting one does.
 *
 * Cost: five words of each candidate, some 10 ns (bench pick).
 */
import { InFlightField, inFlightFields } from '../../../shared/in-flight-table.ts';
import { LeastCost } from '../least-cost.ts';
import type { PickContext, Strategy } from '../part.ts';

export function leastLoadStrategy(): Strategy {
  return new LeastCost(loadCosts, 'known');
}

function loadCosts(
  context: PickContext,
  candidates: Int32Array,
  count: number,
  costs: Float64Array,
): void {
  const { index, reportedLoad } = context.table;
  const { own, remote } = context.ledger;
  for (let i = 0; i < count; i++) {
    const position = candidates[i]!;
    const at = index[position]! * inFlightFields;
    const sent = own[at]! + remote[at]!;
    const decoding = own[at + InFlightField.decoding]! + remote[at + InFlightField.decoding]!;
    costs[i] = reportedLoad[position]! + sent + Math.max(0, sent - decoding);
  }
}
