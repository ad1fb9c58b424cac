/**
 * The best of a random sample (with repetition; all candidates when they are no more than the
 * sample). Between power-of-two, which hardly herds, and max-score, which does.
 */

import { randomBelow } from '../../../random.ts';
import type { Choice } from '../part.ts';

export const samplesDefault = 8;

export function sampledMinimumPick(samples: number): Choice {
  return {
    choose(context, _candidates, count, scores) {
      const isWhole = count <= samples;
      const first = isWhole ? randomBelow(context.random, count) : 0;
      const draws = isWhole ? count : samples;
      let best = -1;
      for (let draw = 0; draw < draws; draw++) {
        // Beginning anywhere in the whole list makes ties random without counting them.
        const i = isWhole ? (first + draw) % count : randomBelow(context.random, count);
        if (best < 0 || scores[i]! > scores[best]!) best = i;
      }
      return best;
    },
  };
}
