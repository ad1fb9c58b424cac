/**
 * Uncached prompt tokens that were sent to the endpoint and have not led to a first token: what
 * its prefill still has before it. Score 1 − tokens / limit, 0 at the limit and beyond.
 */
import type { Scorer } from '../part.ts';

/** Six seconds or so of prefill on a common accelerator: beyond it, more makes no difference. */
export const tokenLoadLimitDefault = 131_072;

export function tokenLoadScorer(limitTokens: number): Scorer {
  return {
    score(context, candidates, count, scores) {
      const { table, ledger } = context;
      for (let i = 0; i < count; i++) {
        const tokens = ledger.pendingTokens(table.index[candidates[i]!]!);
        scores[i] = Math.max(0, 1 - Math.max(0, tokens) / limitTokens);
      }
    },
  };
}
