/**
 * When silence says something about endpoints, so that those who are silent may expire.
 *
 * - While the feed is not whole, all are silent: nobody expires, nor within the whole expiry time
 *   after its return, as some senders come back later than others.
 * - After this thread stood still, what was said meanwhile may still be on its way, or senders may
 *   have given their connections up: expiry waits as long as the stall was, at least
 *   {@link graceMsMin}, at most the expiry time.
 * - A machine that is short of CPU stalls again and again. Stalls together put expiry off by at most
 *   the expiry time; then it runs once: else the dead would fill the view.
 */
import { keyframeIntervalMs } from '@leadsman/wire';

/** Every living sender has repeated itself by then. */
const graceMsMin = 2 * keyframeIntervalMs;

export class ExpiryGuard {
  readonly #expireAfterMs: number;
  #fromMs = Number.NEGATIVE_INFINITY;
  /** The first stall since expiry last ran; NaN when there was none. */
  #stalledSinceMs = Number.NaN;
  #wasSynced: boolean | undefined;

  constructor(expireAfterMs: number) {
    this.#expireAfterMs = expireAfterMs;
  }

  /** Takes note of a stall of `stalledMs` that has just ended. */
  stalled(nowMs: number, stalledMs: number): void {
    if (Number.isNaN(this.#stalledSinceMs)) this.#stalledSinceMs = nowMs;
    const graceMs = Math.max(graceMsMin, Math.min(stalledMs, this.#expireAfterMs));
    const latestMs = this.#stalledSinceMs + Math.max(graceMsMin, this.#expireAfterMs);
    // After a long one at least until the next tick: what waits in the sockets is read before it.
    const leastMs = stalledMs * 2 > this.#expireAfterMs ? nowMs + 1 : nowMs;
    const untilMs = Math.max(leastMs, Math.min(nowMs + graceMs, latestMs));
    this.#fromMs = Math.max(this.#fromMs, untilMs);
  }

  /** Whether silent endpoints may expire now; to be asked at each tick. */
  mayExpire(nowMs: number, isSynced: boolean): boolean {
    if (isSynced && this.#wasSynced === false) {
      this.#fromMs = Math.max(this.#fromMs, nowMs + this.#expireAfterMs);
    }
    this.#wasSynced = isSynced;
    if (!isSynced || nowMs < this.#fromMs) return false;
    this.#stalledSinceMs = Number.NaN;
    return true;
  }
}
