/**
 * The least load by the engine's own numbers and what was sent since:
 *
 *   cost = requests + requests without a first token + 32 × (KV usage)²
 *
 * Waiting requests count twice, since a new one queues behind them but decodes beside running
 * ones. The KV term is small until the cache is nearly full (26 at 90 %), where engines begin to
 * preempt; 32 is a typical batch. Unknown KV usage costs nothing.
 */
import { InFlightField, inFlightFields } from '../../in-flight/table.ts';
import type { PickContext, Strategy } from '../part.ts';
import { LeastCost } from './least-cost.ts';

const kvWeight = 32;

export function leastLoadStrategy(): Strategy {
  return new LeastCost(loadCosts, 'known');
}

export function loadCosts(
  context: PickContext,
  candidates: Int32Array,
  count: number,
  costs: Float64Array,
): void {
  const { index, kvCacheUsageRatio, unseenRequests, unseenWaiting } = context.table;
  const { own, remote } = context.ledger;
  for (let i = 0; i < count; i++) {
    const position = candidates[i]!;
    const at = index[position]! * inFlightFields;
    const sent = own[at]! + remote[at]!;
    const decoding = own[at + InFlightField.decoding]! + remote[at + InFlightField.decoding]!;
    const waiting = unseenWaiting[position]! + Math.max(0, sent - decoding);
    const kv = kvCacheUsageRatio[position]!;
    const kvCost = kv > 0 ? kvWeight * kv * kv : 0;
    costs[i] = unseenRequests[position]! + sent + waiting + kvCost;
  }
}
