/** Fewer running requests are better, relative to the other candidates. Reported numbers only. */
import type { Scorer } from '../part.ts';
import { scoreByLoad } from './spread.ts';

export function runningScorer(): Scorer {
  return {
    score(context, candidates, count, scores) {
      const running = context.table.runningRequests;
      for (let i = 0; i < count; i++) scores[i] = running[candidates[i]!]!;
      scoreByLoad(scores, count);
    },
  };
}
