/**
 * Scores 3 × LoRA + 1 × in-flight + 1 × free KV, highest wins: an adapter's requests stay where it
 * is loaded until that endpoint is clearly busier than the others. Requests for base models are
 * placed by load.
 */
import { Composition } from '../composition.ts';
import type { Strategy } from '../part.ts';
import { maxScorePick } from '../pick/max-score.ts';
import { inFlightScorer } from '../scorer/in-flight.ts';
import { kvScorer } from '../scorer/kv.ts';
import { loraScorer } from '../scorer/lora.ts';

export function loraAffinityStrategy(): Strategy {
  return new Composition(
    [
      { name: 'lora', scorer: loraScorer(), weight: 3 },
      { name: 'in-flight', scorer: inFlightScorer(), weight: 1 },
      { name: 'kv', scorer: kvScorer(), weight: 1 },
    ],
    maxScorePick(),
  );
}
