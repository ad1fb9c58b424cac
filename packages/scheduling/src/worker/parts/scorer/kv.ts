/** The free share of the KV cache: 1 − usage, within 0..1 as engines report a little over 1. */
import type { Scorer } from '../part.ts';

export function kvScorer(): Scorer {
  return {
    score(context, candidates, count, scores) {
      const usage = context.table.kvCacheUsageRatio;
      for (let i = 0; i < count; i++) {
        scores[i] = Math.min(1, Math.max(0, 1 - usage[candidates[i]!]!));
      }
    },
  };
}
