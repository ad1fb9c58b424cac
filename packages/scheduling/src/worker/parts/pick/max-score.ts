/** The highest score; ties at random, so that replicas do not all take the first of the list. */
import type { Choice } from '../part.ts';

export function maxScorePick(): Choice {
  return {
    choose(context, _candidates, count, scores) {
      let best = 0;
      let ties = 1;
      for (let i = 1; i < count; i++) {
        const score = scores[i]!;
        if (score > scores[best]!) {
          best = i;
          ties = 1;
        } else if (score === scores[best]! && context.random() * ++ties < 1) {
          best = i;
        }
      }
      return best;
    },
  };
}
