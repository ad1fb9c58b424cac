/** Any candidate with the same probability, whatever its score: a pick and a strategy in one. */

import { randomBelow } from '../../../random.ts';
import type { Choice, Strategy } from '../part.ts';

export function randomPick(): Choice & Strategy {
  return {
    choose: (context, _candidates: Int32Array, count: number) => randomBelow(context.random, count),
  };
}
