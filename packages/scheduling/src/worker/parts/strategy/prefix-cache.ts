/**
 * Scores 3 × prefix + 1 × in-flight + 1 × free KV, highest wins. Load at a third of the prefix's
 * weight: at equal weight it destroys hits, without it a popular prefix overloads its endpoint.
 */
import { Composition } from '../composition.ts';
import type { Strategy } from '../part.ts';
import { maxScorePick } from '../pick/max-score.ts';
import { inFlightScorer } from '../scorer/in-flight.ts';
import { kvScorer } from '../scorer/kv.ts';
import { prefixScorer } from '../scorer/prefix.ts';

export function prefixCacheStrategy(): Strategy {
  return new Composition(
    [
      { name: 'prefix', scorer: prefixScorer(), weight: 3 },
      { name: 'in-flight', scorer: inFlightScorer(), weight: 1 },
      { name: 'kv', scorer: kvScorer(), weight: 1 },
    ],
    maxScorePick(),
  );
}
