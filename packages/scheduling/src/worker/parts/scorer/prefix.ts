/** The share of the prompt that the endpoint probably holds. Abstains on prompts below a block. */
import type { Scorer } from '../part.ts';

export function prefixScorer(): Scorer {
  return {
    score(context, candidates, count, scores) {
      const { table, prompt } = context;
      for (let i = 0; i < count; i++) scores[i] = prompt.matchedRatio(table.index[candidates[i]!]!);
    },
  };
}
