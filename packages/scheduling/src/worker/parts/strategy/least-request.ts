/** The fewest requests: in flight from pickers, plus what the engine reports beyond those. */
import { inFlightFields } from '../../../shared/in-flight-table.ts';
import { LeastCost } from '../least-cost.ts';
import type { PickContext, Strategy } from '../part.ts';

export function leastRequestStrategy(): Strategy {
  return new LeastCost(requestCosts, 'known');
}

function requestCosts(
  context: PickContext,
  candidates: Int32Array,
  count: number,
  costs: Float64Array,
): void {
  const { index, unseenRequests } = context.table;
  const { own, remote } = context.ledger;
  for (let i = 0; i < count; i++) {
    const position = candidates[i]!;
    const at = index[position]! * inFlightFields;
    costs[i] = unseenRequests[position]! + own[at]! + remote[at]!;
  }
}
