/**
 * How late another replica's messages are, without comparing clocks of two machines.
 *
 *   delay = ½ × least round trip + (this message's offset − least offset)
 *
 * An offset is the receiver's clock minus the sender's stamp: its value means nothing, but its
 * least value over the last minute marks the fastest messages, and what a message exceeds it by
 * is waiting. How long the fastest ones take follows from round trips: replicas echo each other's
 * stamps and say how long they held them.
 */

/** Minima are forgotten after one to two windows, so that a clock's drift does not add up. */
const windowMs = 30_000;

export class ShareDelay {
  #delayMs = 0;
  readonly #offset = new WindowedMinimum();
  readonly #roundTrip = new WindowedMinimum();

  /** Delay of the latest message, ms. */
  get delayMs(): number {
    return this.#delayMs;
  }

  /** A message with the sender's stamp `sentAtMs` came at `receivedAtMs`. */
  received(sentAtMs: number, receivedAtMs: number): void {
    const offset = receivedAtMs - sentAtMs;
    this.#offset.add(offset, receivedAtMs);
    const oneWayMs = this.#roundTrip.isEmpty ? 0 : this.#roundTrip.least / 2;
    this.#delayMs = oneWayMs + offset - this.#offset.least;
  }

  /** Our own stamp came back, `heldMs` of the way spent with the other replica. */
  echoed(ownSentAtMs: number, heldMs: number, receivedAtMs: number): void {
    const roundTripMs = receivedAtMs - ownSentAtMs - heldMs;
    if (roundTripMs >= 0) this.#roundTrip.add(roundTripMs, receivedAtMs);
  }
}

/** The least value of the current and the last window. */
class WindowedMinimum {
  #current = Number.POSITIVE_INFINITY;
  #last = Number.POSITIVE_INFINITY;
  #beganAtMs = Number.NEGATIVE_INFINITY;

  get least(): number {
    return Math.min(this.#current, this.#last);
  }

  get isEmpty(): boolean {
    return this.least === Number.POSITIVE_INFINITY;
  }

  add(value: number, nowMs: number): void {
    if (nowMs - this.#beganAtMs > windowMs) {
      this.#last = this.#current;
      this.#current = Number.POSITIVE_INFINITY;
      this.#beganAtMs = nowMs;
    }
    this.#current = Math.min(this.#current, value);
  }
}
