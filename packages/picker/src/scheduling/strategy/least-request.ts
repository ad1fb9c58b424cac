/** The fewest requests: in flight from pickers, plus what the engine reports beyond those. */
import { expectedRequests } from '../expected-load.ts';
import type { PickContext, Strategy } from '../part.ts';
import { LeastCost } from './least-cost.ts';

export function leastRequestStrategy(): Strategy {
  return new LeastCost(requestCosts);
}

export function requestCosts(
  context: PickContext,
  candidates: Int32Array,
  count: number,
  costs: Float64Array,
): void {
  for (let i = 0; i < count; i++) costs[i] = expectedRequests(context, candidates[i]!);
}
