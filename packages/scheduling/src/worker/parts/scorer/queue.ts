/**
 * Fewer waiting requests are better, relative to the other candidates (the formula of the Go
 * pickers' queue-scorer). Reported numbers only; add `in-flight` for what came since.
 */
import type { Scorer } from '../part.ts';
import { scoreByLoad } from './spread.ts';

export function queueScorer(): Scorer {
  return {
    score(context, candidates, count, scores) {
      const waiting = context.table.waitingRequests;
      for (let i = 0; i < count; i++) scores[i] = waiting[candidates[i]!]!;
      scoreByLoad(scores, count);
    },
  };
}
