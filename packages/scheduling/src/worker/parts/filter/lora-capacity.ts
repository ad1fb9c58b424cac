/**
 * For a request that names a LoRA adapter: keeps endpoints that have it or have room for one
 * more. An engine that tells neither its slots nor its adapters passes.
 */
import { adapterState } from '../../candidates/adapter-states.ts';
import type { Filter, PickContext } from '../part.ts';
import { keepPassing } from './keep.ts';

export function loraCapacityFilter(): Filter {
  const passes = (context: PickContext, position: number): boolean => {
    const { table, request, nowMs } = context;
    const { adapters } = table;
    if (request.model === '' || adapters.isBaseModel(request.model)) return true;
    if (adapters.stateOf(request.model, position, nowMs) !== adapterState.notSeen) return true;
    const active = adapters.active[position]!;
    const isFull = active >= 0 && active >= table.loraSlotsMax[position]!;
    return !isFull;
  };
  return {
    filter: (context, candidates, count) => keepPassing(passes, context, candidates, count),
  };
}
