/** Any candidate with the same probability, whatever its score. */

import { randomBelow } from '../../../random.ts';
import type { Choice } from '../part.ts';

export function randomPick(): Choice {
  return { choose: (context, _candidates, count) => randomBelow(context.random, count) };
}
