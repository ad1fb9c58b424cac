/**
 * Notices that this thread stood still (suspended, starved, a long collection) and says how much
 * older than it looks a frame may be that arrives right after.
 *
 * What arrived meanwhile waited in socket buffers, where nobody could time it. So for one tick
 * after a stall all frames count as if they had waited for all of it. Too pessimistic for most,
 * and mended by the next report; the opposite would show old load as fresh.
 */

/** Distance of two ticks, ms. */
export const tickMs = 100;

/** Lateness of a tick that is no stall, ms: a loaded machine does that all the time. */
export const stallToleranceMs = 250;

export class StallGuard {
  #lastTickMs: number;
  #stalledMs = 0;
  #until = Number.NEGATIVE_INFINITY;

  constructor(nowMs: number) {
    this.#lastTickMs = nowMs;
  }

  /** Call about every {@link tickMs}; `true` when the thread had stood still. */
  tick(nowMs: number): boolean {
    const lateMs = nowMs - this.#lastTickMs - tickMs;
    this.#lastTickMs = nowMs;
    if (lateMs <= stallToleranceMs) return false;
    this.#stalledMs = lateMs;
    this.#until = nowMs + tickMs;
    return true;
  }

  /** What to add to the age of a report that arrives now, ms; 0 unless a stall has just ended. */
  extraAgeMs(nowMs: number): number {
    // Frames may be handled before the late tick is.
    const lateMs = nowMs - this.#lastTickMs - tickMs;
    if (lateMs > stallToleranceMs) return lateMs;
    return nowMs <= this.#until ? this.#stalledMs : 0;
  }
}
