/**
 * The emptiest KV cache: reported usage plus what the requests sent since will fill.
 *
 *   cost = usage + sent since the report × mean uncached tokens / capacity + requests / 1000
 *
 * The last term breaks ties by load, and rules where no KV usage is known.
 */
import { expectedRequests, sentSinceReport } from '../expected-load.ts';
import { LeastCost } from '../least-cost.ts';
import type { PickContext, Strategy } from '../part.ts';

/** Tokens of KV cache assumed where an engine does not tell: one accelerator of 80 GB, 8B model. */
const kvCapacityTokensDefault = 400_000;

const tieWeight = 0.001;

export function leastKvCacheStrategy(): Strategy {
  return new LeastCost(kvCosts, 'may be unknown');
}

function kvCosts(
  context: PickContext,
  candidates: Int32Array,
  count: number,
  costs: Float64Array,
): void {
  const { table, means } = context;
  for (let i = 0; i < count; i++) {
    const position = candidates[i]!;
    const capacity = table.kvCacheCapacityTokens[position]!;
    const tokens = sentSinceReport(context, position) * means.uncachedTokens;
    const filling = tokens / (capacity > 0 ? capacity : kvCapacityTokensDefault);
    const usage = table.kvCacheUsageRatio[position]!;
    costs[i] = usage + filling + tieWeight * expectedRequests(context, position);
  }
  if (count > 0 && Number.isNaN(costs[0]!)) useRequestsIfUnknown(context, candidates, count, costs);
}

/** When no candidate tells its KV usage, load alone decides. */
function useRequestsIfUnknown(
  context: PickContext,
  candidates: Int32Array,
  count: number,
  costs: Float64Array,
): void {
  for (let i = 0; i < count; i++) if (!Number.isNaN(costs[i]!)) return;
  for (let i = 0; i < count; i++) costs[i] = expectedRequests(context, candidates[i]!);
}
