/**
 * The one with fewer requests of two drawn at random: nearly as good as the least of all, and it
 * does not herd when numbers are old (Mitzenmacher 2001).
 */

import { randomBelow } from '../../../random.ts';
import { expectedRequests } from '../expected-load.ts';
import type { Strategy } from '../part.ts';

export function powerOfTwoStrategy(): Strategy {
  return {
    choose(context, candidates, count) {
      if (count === 1) return 0;
      const first = randomBelow(context.random, count);
      const other = randomBelow(context.random, count - 1);
      const second = other < first ? other : other + 1;
      const isSecondBetter =
        expectedRequests(context, candidates[second]!) <
        expectedRequests(context, candidates[first]!);
      return isSecondBetter ? second : first;
    },
  };
}
