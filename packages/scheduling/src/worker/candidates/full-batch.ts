/** How many requests an engine runs at once, learned from reports that show it full. */

/** Requests that may wait in an engine without it being full: about what one step takes in. */
const aheadRatio = 1 / 8;
const aheadMin = 2;

export function aheadOf(batch: number): number {
  return Math.max(aheadMin, batch * aheadRatio);
}

/**
 * The batch of an endpoint as of a report, `before` as of the last one; NaN: it was never seen full.
 * Requests that wait for no longer than a step say nothing: they may have come just now.
 */
export function learnBatch(before: number, running: number, waiting: number): number {
  if (Number.isNaN(running)) return before;
  if (waiting > aheadOf(running)) return Math.max(1, running);
  // NaN stays NaN: what was never seen full has no limit.
  return Math.max(running, before);
}
