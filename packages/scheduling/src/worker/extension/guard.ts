/**
 * Keeps a user's part from hurting a request. A part that throws, or breaks the rules of its
 * interface in a way that can be seen, is switched off for its pool until the next reload: a
 * scorer then abstains, a filter lets all pass, a pick becomes max-score. It is reported once.
 */
import type { Choice, Filter, PickContext, Scorer } from '../parts/part.ts';

/** Hears once of a part that was switched off. */
export type FaultListener = (name: string, error: unknown) => void;

export function guardScorer(name: string, scorer: Scorer, onFault: FaultListener): Scorer {
  let isOn = true;
  return {
    score(context, candidates, count, scores) {
      if (isOn) {
        try {
          scorer.score(context, candidates, count, scores);
          return;
        } catch (error) {
          isOn = false;
          onFault(name, error);
        }
      }
      scores.fill(Number.NaN, 0, count);
    },
  };
}

export function guardFilter(name: string, filter: Filter, onFault: FaultListener): Filter {
  let isOn = true;
  let backup = new Int32Array(0);
  return {
    filter(context, candidates, count) {
      if (!isOn) return count;
      if (backup.length < count) backup = new Int32Array(candidates.length);
      backup.set(candidates);
      try {
        const kept = filter.filter(context, candidates, count);
        checkKept(context, candidates, count, kept);
        return kept;
      } catch (error) {
        isOn = false;
        onFault(name, error);
        for (let i = 0; i < count; i++) candidates[i] = backup[i]!;
        return count;
      }
    },
  };
}

export function guardPick(
  name: string,
  pick: Choice,
  otherwise: Choice,
  onFault: FaultListener,
): Choice {
  let isOn = true;
  return {
    choose(context, candidates, count, scores) {
      if (isOn) {
        try {
          const chosen = pick.choose(context, candidates, count, scores);
          if (Number.isInteger(chosen) && chosen >= 0 && chosen < count) return chosen;
          throw new RangeError(`chose ${chosen} of ${count} candidates`);
        } catch (error) {
          isOn = false;
          onFault(name, error);
        }
      }
      return otherwise.choose(context, candidates, count, scores);
    },
  };
}

function checkKept(
  context: PickContext,
  candidates: Int32Array,
  count: number,
  kept: number,
): void {
  if (!Number.isInteger(kept) || kept < 0 || kept > count) {
    throw new RangeError(`kept ${kept} of ${count} candidates`);
  }
  for (let i = 0; i < kept; i++) {
    const position = candidates[i]!;
    if (!(position >= 0 && position < context.table.count)) {
      throw new RangeError(`kept a candidate that does not exist: ${position}`);
    }
  }
}
