/**
 * The least load by the engine's own numbers and what was sent since:
 *
 *   cost = requests + requests without a first token + 32 × (KV usage)²
 *
 * Waiting requests count twice, since a new one queues behind them but decodes beside running
 * ones. The KV term is small until the cache is nearly full (26 at 90 %), where engines begin to
 * preempt; 32 is a typical batch. Unknown KV usage costs nothing.
 */
import { expectedRequests, expectedWaiting } from '../expected-load.ts';
import type { PickContext, Strategy } from '../part.ts';
import { LeastCost } from './least-cost.ts';

const kvWeight = 32;

export function leastLoadStrategy(): Strategy {
  return new LeastCost(loadCosts);
}

export function loadCosts(
  context: PickContext,
  candidates: Int32Array,
  count: number,
  costs: Float64Array,
): void {
  const usage = context.table.kvCacheUsageRatio;
  for (let i = 0; i < count; i++) {
    const position = candidates[i]!;
    const kv = usage[position]!;
    const kvCost = kv > 0 ? kvWeight * kv * kv : 0;
    costs[i] = expectedRequests(context, position) + expectedWaiting(context, position) + kvCost;
  }
}
