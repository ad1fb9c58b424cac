/** At random, with the score as the weight; uniform when all scores are 0. */

import { randomBelow } from '../../../random.ts';
import type { Choice } from '../part.ts';

export function weightedRandomPick(): Choice {
  return {
    choose(context, _candidates, count, scores) {
      let total = 0;
      for (let i = 0; i < count; i++) total += scores[i]!;
      if (!(total > 0)) return randomBelow(context.random, count);
      let left = context.random() * total;
      for (let i = 0; i < count; i++) {
        left -= scores[i]!;
        if (left < 0) return i;
      }
      return count - 1;
    },
  };
}
