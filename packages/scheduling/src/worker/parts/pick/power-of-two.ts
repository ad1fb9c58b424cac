/**
 * The better of two different candidates drawn at random: nearly as good as the best of all, and no
 * herd even on numbers that are seconds old (Mitzenmacher, "The power of two choices in randomized
 * load balancing"). As a pick it goes by scores, as a strategy by expected requests.
 */

import type { Random } from '../../../random.ts';
import { randomBelow } from '../../../random.ts';
import { expectedRequests } from '../expected-load.ts';
import type { Choice, Strategy } from '../part.ts';

export function powerOfTwoPick(): Choice {
  return {
    choose(context, _candidates, count, scores) {
      if (count === 1) return 0;
      const first = randomBelow(context.random, count);
      const second = anotherBelow(context.random, count, first);
      return scores[second]! > scores[first]! ? second : first;
    },
  };
}

export function powerOfTwoStrategy(): Strategy {
  return {
    choose(context, candidates, count) {
      if (count === 1) return 0;
      const first = randomBelow(context.random, count);
      const second = anotherBelow(context.random, count, first);
      const isSecondBetter =
        expectedRequests(context, candidates[second]!) <
        expectedRequests(context, candidates[first]!);
      return isSecondBetter ? second : first;
    },
  };
}

/** A whole number below `count` (at least 2) that is not `first`, each with the same probability. */
function anotherBelow(random: Random, count: number, first: number): number {
  const other = randomBelow(random, count - 1);
  return other < first ? other : other + 1;
}
