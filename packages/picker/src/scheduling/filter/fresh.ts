/**
 * Freshness. Every pick is limited to the best trust class among its candidates by
 * {@link keepMostTrusted}; that is not configurable, since old numbers flatter. The filter part
 * goes further: with it, an endpoint that is not fresh gets no request even as the last resort.
 */
import type { CandidateTable } from '../candidate-table.ts';
import { trust, trustClasses } from '../freshness.ts';
import type { Filter, PickContext } from '../part.ts';
import { keepPassing } from './keep.ts';

/** Moves the candidates of the best class that has any to the front; returns how many. */
export function keepMostTrusted(
  table: CandidateTable,
  candidates: Int32Array,
  count: number,
): number {
  let best = trustClasses;
  for (let i = 0; i < count; i++) best = Math.min(best, table.trust[candidates[i]!]!);
  let kept = 0;
  for (let i = 0; i < count; i++) {
    const position = candidates[i]!;
    if (table.trust[position] === best) candidates[kept++] = position;
  }
  return kept;
}

export function freshFilter(): Filter {
  const passes = (context: PickContext, position: number): boolean =>
    context.table.trust[position] === trust.fresh;
  return {
    filter: (context, candidates, count) => keepPassing(passes, context, candidates, count),
  };
}
