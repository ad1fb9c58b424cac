/**
 * Base of the strategies that send a request where a cost is least; ties are broken at random.
 *
 * Formulas fill a whole array instead of being asked per candidate: that keeps the loop free of
 * calls the compiler cannot see through (1,000 candidates in a few microseconds).
 */

import type { Random } from '../../random.ts';
import type { PickContext, Strategy } from './part.ts';

/** Writes the cost of each candidate, in whatever unit; NaN where it cannot be known. */
export type CostFormula = (
  context: PickContext,
  candidates: Int32Array,
  count: number,
  costs: Float64Array,
) => void;

export class LeastCost implements Strategy {
  readonly #formula: CostFormula;
  readonly #mayBeUnknown: boolean;
  #costs = new Float64Array(0);

  /** `costs` says whether the formula ever writes NaN. */
  constructor(formula: CostFormula, costs: 'known' | 'may be unknown') {
    this.#formula = formula;
    this.#mayBeUnknown = costs === 'may be unknown';
  }

  choose(context: PickContext, candidates: Int32Array, count: number): number {
    if (this.#costs.length < count) this.#costs = new Float64Array(2 * count);
    this.#formula(context, candidates, count, this.#costs);
    if (this.#mayBeUnknown) fillUnknown(this.#costs, count);
    return chooseLeast(this.#costs, count, context.random);
  }
}

/** Index of the least of the first `count` costs, ties at random. */
function chooseLeast(costs: Float64Array, count: number, random: Random): number {
  let best = 0;
  let least = costs[0]!;
  let ties = 1;
  for (let i = 1; i < count; i++) {
    const cost = costs[i]!;
    if (cost < least) {
      best = i;
      least = cost;
      ties = 1;
    } else if (cost === least && random() * ++ties < 1) {
      best = i;
    }
  }
  return best;
}

/** An unknown cost counts as the mean of the known ones: neither best nor worst. */
function fillUnknown(costs: Float64Array, count: number): void {
  let sum = 0;
  let known = 0;
  for (let i = 0; i < count; i++) {
    const cost = costs[i]!;
    if (Number.isNaN(cost)) continue;
    sum += cost;
    known++;
  }
  if (known === count) return;
  const mean = known === 0 ? 0 : sum / known;
  for (let i = 0; i < count; i++) if (Number.isNaN(costs[i]!)) costs[i] = mean;
}
