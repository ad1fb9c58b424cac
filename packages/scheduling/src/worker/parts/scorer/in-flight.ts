/**
 * Fewer requests between pick and end are better, relative to the other candidates: those of this
 * picker at once, and those of the other replicas as they tell. Never abstains, as pickers always
 * know what they have sent themselves.
 */
import type { Scorer } from '../part.ts';
import { scoreByLoad } from './spread.ts';

export function inFlightScorer(): Scorer {
  return {
    score(context, candidates, count, scores) {
      const { table, ledger } = context;
      for (let i = 0; i < count; i++) scores[i] = ledger.requests(table.index[candidates[i]!]!);
      scoreByLoad(scores, count);
    },
  };
}
