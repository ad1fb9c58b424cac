/**
 * For a request that names an adapter: 1 where it runs or was seen lately, 0.8 where there is room
 * to load it, 0.6 where it waits to be loaded, 0 where every slot is taken (the Go pickers'
 * lora-affinity scale). Abstains for base models, and where an engine says nothing of adapters.
 */
import { adapterState } from '../../candidates/adapter-states.ts';
import type { PickContext, Scorer } from '../part.ts';

export function loraScorer(): Scorer {
  return {
    score(context, candidates, count, scores) {
      const { model } = context.request;
      const isBase = model === '' || context.table.adapters.isBaseModel(model);
      for (let i = 0; i < count; i++) {
        scores[i] = isBase ? Number.NaN : scoreOf(context, candidates[i]!);
      }
    },
  };
}

function scoreOf(context: PickContext, position: number): number {
  const { table, request, nowMs } = context;
  const state = table.adapters.stateOf(request.model, position, nowMs);
  if (state === adapterState.running || state === adapterState.seen) return 1;
  if (state === adapterState.waiting) return 0.6;
  const active = table.adapters.active[position]!;
  if (active < 0 || Number.isNaN(table.loraSlotsMax[position]!)) return Number.NaN;
  return active < table.loraSlotsMax[position]! ? 0.8 : 0;
}
