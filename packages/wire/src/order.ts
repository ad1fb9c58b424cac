/**
 * Which of two records of one endpoint is the newer. Decided by (epoch, position) alone, so
 * repeats, reordering, two paths at once and wrong sender clocks do no harm. The position is a
 * report's `seq`, or the revision of attributes.
 *
 * One exception: a sender that restarts on a clock which was set back has a lower epoch than
 * before. It is accepted once nothing newer came for `epochTakeoverMs`, which is more than two
 * keyframes: a record that is merely late never replaces what a living sender says.
 */
import { epochTakeoverMs } from './limits.ts';

export const verdict = {
  /** Higher (epoch, position): take it. */
  newer: 0,
  /** Lower epoch, but the higher one has fallen silent: take it. */
  takeover: 1,
  /** The same (epoch, position). */
  duplicate: 2,
  older: 3,
} as const;

export type Verdict = (typeof verdict)[keyof typeof verdict];

/** `silentMs`: how long the known (epoch, position) has been the newest; 0: no takeover. */
export function compareOrder(
  epoch: number,
  position: number,
  knownEpoch: number,
  knownPosition: number,
  silentMs: number,
): Verdict {
  if (epoch === knownEpoch) {
    if (position > knownPosition) return verdict.newer;
    return position === knownPosition ? verdict.duplicate : verdict.older;
  }
  if (epoch > knownEpoch) return verdict.newer;
  return silentMs >= epochTakeoverMs ? verdict.takeover : verdict.older;
}
