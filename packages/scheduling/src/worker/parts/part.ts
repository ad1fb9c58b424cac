/**
 * The parts a strategy is made of, and what they get to see. Extensions implement the same
 * interfaces (docs/extending.md).
 *
 * ```
 * members of the pool ──filters──> candidates ──scorers──> scores ──choice──> one position
 * ```
 *
 * Rules for parts, which is what makes a pick among 1,000 take microseconds: called synchronously,
 * they read columns by candidate position and write only into the arrays they are given. They
 * allocate nothing per endpoint, keep no reference to an array or a context after returning, and
 * take their randomness and time from the context.
 */

import type { Random } from '../../random.ts';
import type { RequestFacts } from '../../scheduler.ts';
import type { CandidateTable } from '../candidates/candidate-table.ts';
import type { Ledger } from '../candidates/ledger.ts';
import type { PromptMatch } from '../candidates/prompt-match.ts';
import type { RequestMeans } from '../candidates/request-means.ts';

/** What a part may look at during one pick. */
export interface PickContext {
  readonly request: RequestFacts;
  readonly nowMs: number;
  /** The choice is for a further endpoint of a request that has its first: nothing is sent there. */
  readonly isFallback: boolean;
  /** Columns by candidate position. */
  readonly table: CandidateTable;
  /** In-flight numbers by `table.index[position]`. */
  readonly ledger: Ledger;
  /** How much of the prompt each candidate holds. */
  readonly prompt: PromptMatch;
  /** Running means over the pool's requests. */
  readonly means: RequestMeans;
  readonly random: Random;
}

export interface Filter {
  /**
   * Keeps the candidates that pass by moving their positions to the front of `candidates`, in
   * order; returns how many. What it cannot judge, for want of data, passes.
   */
  filter(context: PickContext, candidates: Int32Array, count: number): number;
}

export interface Scorer {
  /**
   * Writes a score in [0, 1], 1 best, for each of the first `count` candidates: `scores[i]` for
   * position `candidates[i]`. NaN where it lacks its data: then it abstains from that candidate.
   */
  score(context: PickContext, candidates: Int32Array, count: number, scores: Float64Array): void;
}

export interface Choice {
  /**
   * Chooses one of the first `count` candidates (at least 1) by their scores, none of which is
   * NaN. Returns an index into `candidates`.
   */
  choose(context: PickContext, candidates: Int32Array, count: number, scores: Float64Array): number;
}

export interface Strategy {
  /** Chooses among the first `count` candidates (at least 1). Returns an index into them. */
  choose(context: PickContext, candidates: Int32Array, count: number): number;
}
