/** Any candidate with the same probability. */
import type { Strategy } from '../part.ts';
import { randomBelow } from '../random.ts';

export function randomStrategy(): Strategy {
  return { choose: (context, _candidates, count) => randomBelow(context.random, count) };
}
