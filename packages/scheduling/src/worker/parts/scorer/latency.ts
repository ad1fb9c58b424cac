/**
 * Shorter time between two tokens is better, relative to the other candidates; smoothed over the
 * engine's own reports. Abstains until an engine has reported tokens.
 */
import type { Scorer } from '../part.ts';
import { scoreByLoad } from './spread.ts';

export function latencyScorer(): Scorer {
  return {
    score(context, candidates, count, scores) {
      const times = context.table.interTokenMs;
      for (let i = 0; i < count; i++) scores[i] = times[candidates[i]!]!;
      scoreByLoad(scores, count);
    },
  };
}
