/**
 * How many bytes the calls of a worker may hold together: bodies, messages that are under way, what
 * waits to be sent, and each call by itself. What goes first as it fills up:
 *
 * | used              | what happens                                                                |
 * |-------------------|-----------------------------------------------------------------------------|
 * | above `bytesMax`  | bodies are no longer kept: picked for without being read, as above the cap  |
 * | … by a quarter    | new calls are refused                                                       |
 * | … by half         | messages that come in several pieces are refused as too large               |
 */
export class ByteBudget {
  readonly bytesMax: number;
  #used = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  get usedBytes(): number {
    return this.#used;
  }

  /** Whether there is no room for another call. */
  get isFull(): boolean {
    return this.#used > this.bytesMax * 1.25;
  }

  /** Reserves room; false, and nothing reserved, when there is not enough. */
  take(bytes: number): boolean {
    if (this.#used + bytes > this.bytesMax) return false;
    this.#used += bytes;
    return true;
  }

  /**
   * Reserves room for a message on its way through, for which half as much again is kept: when
   * bodies have filled their room, other exchanges must still move.
   */
  takeInTransit(bytes: number): boolean {
    if (this.#used + bytes > this.bytesMax * 1.5) return false;
    this.#used += bytes;
    return true;
  }

  /** Takes room that cannot be refused, such as for replies; the bodies after it find less. */
  charge(bytes: number): void {
    this.#used += bytes;
  }

  /** Returns room that was taken. */
  give(bytes: number): void {
    this.#used -= bytes;
  }
}
