/** Any candidate with the same probability. */

import { randomBelow } from '../../../random.ts';
import type { Strategy } from '../part.ts';

export function randomStrategy(): Strategy {
  return { choose: (context, _candidates, count) => randomBelow(context.random, count) };
}
