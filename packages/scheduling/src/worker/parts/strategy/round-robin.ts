/**
 * The candidates in turn. Workers and replicas begin at random places, so that they do not walk in
 * step; a candidate that leaves or comes does not restart the round.
 */

import { randomBelow } from '../../../random.ts';
import type { Strategy } from '../part.ts';

export function roundRobinStrategy(): Strategy {
  let turn = -1;
  return {
    choose(context, _candidates, count) {
      turn = turn < 0 ? randomBelow(context.random, count) : turn + 1;
      if (turn >= Number.MAX_SAFE_INTEGER) turn = 0;
      return turn % count;
    },
  };
}
