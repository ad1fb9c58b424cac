/**
 * The better of two different candidates drawn at random (Mitzenmacher, "The power of two choices
 * in randomized load balancing"): no herd even on numbers that are seconds old.
 */

import { randomBelow } from '../../../random.ts';
import type { Choice } from '../part.ts';

export function powerOfTwoPick(): Choice {
  return {
    choose(context, _candidates, count, scores) {
      if (count === 1) return 0;
      const first = randomBelow(context.random, count);
      const other = randomBelow(context.random, count - 1);
      const second = other < first ? other : other + 1;
      return scores[second]! > scores[first]! ? second : first;
    },
  };
}
