/**
 * How fast each endpoint is compared with its pool, learned from the time between two tokens that
 * engines report themselves: s = clamp(√(median / own), ¼, 4).
 *
 * The square root, because a slow decode step says only half about prefill speed. Time to first
 * token is not used: it grows with the queue, so a busy endpoint would look slow and then idle.
 * While any endpoint's KV cache is filled to `kvRatioMax`, every speed is 1: preemption makes
 * decode times meaningless, and shifting load by them ends in a meltdown.
 */

import { trust } from '@leadsman/view/trust';
import type { CandidateColumns } from './candidate-columns.ts';

/** Weight of a new report in the smoothed time: some 30 reports, 1.5 s at the usual pace. */
const reportWeight = 0.03;
const speedMin = 0.25;
const speedMax = 4;
/** From here on engines may preempt within a request's life. */
const kvRatioMax = 0.7;

export class SpeedLearner {
  #secondsSum = new Float64Array(0);
  #tokens = new Float64Array(0);

  /** Follows a membership change; `kept[i]` is the old position of the new position i, or -1. */
  carryOver(kept: readonly number[]): void {
    const sums = this.#secondsSum;
    const tokens = this.#tokens;
    this.#secondsSum = Float64Array.from(kept, (old) => (old < 0 ? Number.NaN : sums[old]!));
    this.#tokens = Float64Array.from(kept, (old) => (old < 0 ? Number.NaN : tokens[old]!));
  }

  /** Takes a report's counters and returns the new smoothed inter-token time, ms. */
  observe(position: number, secondsSum: number, tokens: number, smoothedMs: number): number {
    const newTokens = tokens - this.#tokens[position]!;
    const newSeconds = secondsSum - this.#secondsSum[position]!;
    this.#tokens[position] = tokens;
    this.#secondsSum[position] = secondsSum;
    // A counter that fell back is an engine that restarted; the next report will tell.
    if (!(newTokens > 0) || !(newSeconds > 0)) return smoothedMs;
    const sampleMs = (newSeconds * 1000) / newTokens;
    if (Number.isNaN(smoothedMs)) return sampleMs;
    return smoothedMs + reportWeight * (sampleMs - smoothedMs);
  }

  /** Writes the `speed` column from the smoothed times of the fresh endpoints. */
  apply(columns: CandidateColumns): void {
    const medianMs = medianOfFresh(columns);
    const isScarce = isKvScarce(columns);
    for (let position = 0; position < columns.count; position++) {
      const ownMs = columns.interTokenMs[position]!;
      const isUsable = !isScarce && ownMs > 0 && medianMs > 0;
      const ratio = isUsable ? Math.sqrt(medianMs / ownMs) : 1;
      columns.speed[position] = Math.min(speedMax, Math.max(speedMin, ratio));
    }
  }
}

function medianOfFresh(columns: CandidateColumns): number {
  const times = columns.interTokenMs.filter(
    (time, position) => columns.trust[position] === trust.fresh && time > 0,
  );
  if (times.length < 2) return Number.NaN;
  times.sort();
  const middle = times.length >> 1;
  return times.length % 2 === 1 ? times[middle]! : (times[middle - 1]! + times[middle]!) / 2;
}

function isKvScarce(columns: CandidateColumns): boolean {
  for (let position = 0; position < columns.count; position++) {
    if (columns.trust[position] !== trust.fresh) continue;
    if (columns.kvCacheUsageMaxRatio[position]! >= kvRatioMax) return true;
  }
  return false;
}
