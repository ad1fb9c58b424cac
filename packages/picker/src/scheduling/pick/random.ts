/** Any candidate with the same probability, whatever its score. */
import type { Choice } from '../part.ts';
import { randomBelow } from '../random.ts';

export function randomPick(): Choice {
  return { choose: (context, _candidates, count) => randomBelow(context.random, count) };
}
