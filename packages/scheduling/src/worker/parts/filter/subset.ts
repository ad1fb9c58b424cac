/**
 * The gateway's subset hint (`x-gateway-destination-endpoint-subset`, protocol 004): when it is
 * there, only its members may be picked, and an empty one means that nobody may.
 *
 * It applies to every pick, before all other filters; naming it in a configuration changes nothing.
 */
import type { CandidateTable } from '../../candidates/candidate-table.ts';
import type { Filter } from '../part.ts';

/** Writes the candidates a request may have at all; returns how many. */
export function membersOfSubset(
  table: CandidateTable,
  subset: readonly string[] | undefined,
  candidates: Int32Array,
): number {
  if (subset !== undefined) return table.subset(subset, candidates);
  for (let position = 0; position < table.count; position++) candidates[position] = position;
  return table.count;
}

export function subsetFilter(): Filter {
  return { filter: (_context, _candidates, count) => count };
}
