/**
 * How far behind a NATS connection is, by its pings.
 *
 * A server answers a ping in the same stream as the messages, behind all that waits there for
 * this client. So a ping that is unanswered for T ms says that whatever arrives now had already
 * waited that long, and that what was published since then may not have been taken yet. (Or the ping
 * itself was held up on its way, which nobody can tell apart: numbers then look older than they are,
 * never younger.) No clock of another machine is involved.
 */

export class LagMeter {
  /** Time of the ping that is under way, ms; NaN when none is. */
  #pingedMs = Number.NaN;
  #lastPingMs = Number.NEGATIVE_INFINITY;
  #unconfirmedBytes = 0;
  #bytesAtPing = 0;
  /** Round trip of the latest answered ping, ms; NaN before the first. */
  roundTripMs = Number.NaN;

  /** Bytes published that no answered ping vouches for. */
  get unconfirmedBytes(): number {
    return this.#unconfirmedBytes;
  }

  get waiting(): boolean {
    return !Number.isNaN(this.#pingedMs);
  }

  /** Whether a ping is due, given the wanted distance between two, ms. */
  due(nowMs: number, everyMs: number): boolean {
    return !this.waiting && nowMs - this.#lastPingMs >= everyMs;
  }

  pinged(nowMs: number): void {
    this.#pingedMs = nowMs;
    this.#lastPingMs = nowMs;
    this.#bytesAtPing = this.#unconfirmedBytes;
  }

  answered(nowMs: number): void {
    this.roundTripMs = nowMs - this.#pingedMs;
    this.#pingedMs = Number.NaN;
    this.#unconfirmedBytes -= this.#bytesAtPing;
    this.#bytesAtPing = 0;
  }

  published(bytes: number): void {
    this.#unconfirmedBytes += bytes;
  }

  /** What arrives now is at least this old, ms; 0 when nothing is known against it. */
  lagMs(nowMs: number): number {
    return this.waiting ? nowMs - this.#pingedMs : 0;
  }
}
