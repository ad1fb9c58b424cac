/**
 * Freshness. Every pick is limited to the best trust class among its candidates by
 * {@link keepMostTrusted}; that is not configurable, since old numbers flatter. The filter part
 * goes further: with it, an endpoint that is not fresh gets no request even as the last resort.
 */

import { trust, trustClasses } from '@leadsman/view/trust';
import type { CandidateTable } from '../../candidates/candidate-table.ts';
import type { Filter, PickContext } from '../part.ts';
import { keepPassing } from './keep.ts';

/**
 * Moves the candidates of the best class that has any to the front; returns how many. With
 * `spills`, fresh and stale ones count as one class.
 */
export function keepMostTrusted(
  table: CandidateTable,
  candidates: Int32Array,
  count: number,
  spills: boolean,
): number {
  let worst: number = trustClasses;
  for (let i = 0; i < count; i++) worst = Math.min(worst, table.trust[candidates[i]!]!);
  if (spills && worst === trust.fresh) worst = trust.stale;
  let kept = 0;
  for (let i = 0; i < count; i++) {
    const position = candidates[i]!;
    if (table.trust[position]! <= worst) candidates[kept++] = position;
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
