/**
 * Leaves out endpoints that are saturated: by default 5 or more requests wait in the engine, or
 * its KV cache is filled to 80 % (the limits that Gateway API Inference Extension's detector
 * uses). A preference by default: when all are saturated, all stay.
 */

import { isSaturated, type SaturationLimits } from '../../candidates/saturation.ts';
import type { Filter, PickContext } from '../part.ts';
import { keepPassing } from './keep.ts';

export function notSaturatedFilter(limits: SaturationLimits): Filter {
  const passes = (context: PickContext, position: number): boolean =>
    !isSaturated(context.table, position, limits);
  return {
    filter: (context, candidates, count) => keepPassing(passes, context, candidates, count),
  };
}
