/** Keeps endpoints whose pod carries a label with one of the given values (any value if none). */
import type { Filter, PickContext } from '../part.ts';
import { keepPassing } from './keep.ts';

export interface LabelRule {
  label: string;
  values: readonly string[];
  /** Whether pods without the label pass too. */
  allowUnlabeled: boolean;
}

export function labelFilter(rule: LabelRule): Filter {
  const passes = (context: PickContext, position: number): boolean => {
    const value = context.table.endpoints[position]!.labels[rule.label];
    if (value === undefined) return rule.allowUnlabeled;
    return rule.values.length === 0 || rule.values.includes(value);
  };
  return {
    filter: (context, candidates, count) => keepPassing(passes, context, candidates, count),
  };
}
