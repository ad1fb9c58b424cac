/**
 * Which of two reports of one endpoint is the newer. Decided by (epoch, seq) alone, so repeats,
 * reordering, two paths at once and wrong sender clocks do no harm.
 *
 * One exception: a sender that restarts on a clock which was set back has a lower epoch than
 * before. It is accepted once nothing newer came for `epochTakeoverMs`, which is more than two
 * keyframes: a frame that is merely late never replaces what a living sender says.
 */
import { epochTakeoverMs } from '@leadsman/wire';

export const verdict = {
  /** Higher (epoch, seq): take it. */
  newer: 0,
  /** Lower epoch, but the higher one has fallen silent: take it. */
  takeover: 1,
  /** The same (epoch, seq). */
  duplicate: 2,
  older: 3,
} as const;

export type Verdict = (typeof verdict)[keyof typeof verdict];

/** `silentMs`: how long the known (epoch, seq) has been the newest. */
export function compareOrder(
  epoch: number,
  seq: number,
  knownEpoch: number,
  knownSeq: number,
  silentMs: number,
): Verdict {
  if (epoch === knownEpoch) {
    if (seq > knownSeq) return verdict.newer;
    return seq === knownSeq ? verdict.duplicate : verdict.older;
  }
  if (epoch > knownEpoch) return verdict.newer;
  return silentMs >= epochTakeoverMs ? verdict.takeover : verdict.older;
}
