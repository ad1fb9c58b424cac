/**
 * A strategy made of weighted scorers and a choice.
 *
 * The score of a candidate is the weighted mean over the scorers that did not abstain from it, so
 * that a missing number neither helps nor harms. Where all abstain, the candidate gets the mean of
 * the others (½ if there are none): it is unknown, not worst.
 *
 * Cost: scorers × candidates, in flat arrays that grow with the pool and are reused.
 */
import type { Choice, PickContext, Scorer, Strategy } from './part.ts';

export interface WeightedScorer {
  name: string;
  scorer: Scorer;
  /** Above 0. */
  weight: number;
}

export class Composition implements Strategy {
  readonly #scorers: readonly WeightedScorer[];
  readonly #choice: Choice;
  #scores = new Float64Array(0);
  #totals = new Float64Array(0);
  #weights = new Float64Array(0);

  constructor(scorers: readonly WeightedScorer[], choice: Choice) {
    this.#scorers = scorers;
    this.#choice = choice;
  }

  choose(context: PickContext, candidates: Int32Array, count: number): number {
    this.#reserve(count);
    for (const { scorer, weight } of this.#scorers) {
      scorer.score(context, candidates, count, this.#scores);
      this.#add(count, weight);
    }
    this.#finish(count);
    return this.#choice.choose(context, candidates, count, this.#totals);
  }

  #add(count: number, weight: number): void {
    for (let i = 0; i < count; i++) {
      const score = this.#scores[i]!;
      if (Number.isNaN(score)) continue;
      this.#totals[i]! += weight * Math.min(1, Math.max(0, score));
      this.#weights[i]! += weight;
    }
  }

  #finish(count: number): void {
    let sum = 0;
    let judged = 0;
    for (let i = 0; i < count; i++) {
      if (this.#weights[i]! === 0) continue;
      this.#totals[i]! /= this.#weights[i]!;
      sum += this.#totals[i]!;
      judged++;
    }
    if (judged === count) return;
    const unknown = judged === 0 ? 0.5 : sum / judged;
    for (let i = 0; i < count; i++) if (this.#weights[i]! === 0) this.#totals[i] = unknown;
  }

  #reserve(count: number): void {
    if (this.#scores.length < count) {
      const size = 2 ** Math.ceil(Math.log2(count));
      this.#scores = new Float64Array(size);
      this.#totals = new Float64Array(size);
      this.#weights = new Float64Array(size);
    }
    this.#totals.fill(0, 0, count);
    this.#weights.fill(0, 0, count);
  }
}
