/**
 * What the streams of a direct listener say about how whole the view is. A broker tells that it has
 * everybody; here each sender dials for itself, and finds a new listener within 5 s of its start.
 *
 * So while senders keep coming in that time, more are to be expected: {@link arrivedAtMs} is when the
 * latest did. Later ones are new pods and nodes.
 */

/**
 * A listener that nobody has dialled yet counts as connected after this long: senders look for new
 * collectors every 5 s, so that then there are none.
 */
export const directAloneMs = 7_500;

export class DirectPresence {
  /** When the latest of the senders came that had to find this listener; -∞ before the first. */
  arrivedAtMs = Number.NEGATIVE_INFINITY;
  connected = false;
  #listeningSinceMs = Number.NaN;
  #streamsMost = 0;

  listening(nowMs: number): void {
    this.#listeningSinceMs = nowMs;
  }

  /** Takes note of how many stream now; to be called at each tick. */
  look(streams: number, nowMs: number): void {
    const listenedMs = nowMs - this.#listeningSinceMs;
    if (streams > this.#streamsMost) {
      this.#streamsMost = streams;
      if (listenedMs < directAloneMs) this.arrivedAtMs = nowMs;
    }
    this.connected = this.#streamsMost > 0 ? streams > 0 : listenedMs >= directAloneMs;
  }
}
