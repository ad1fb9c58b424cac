/**
 * How many body bytes all exchanges of a worker may hold together. A body that finds no room is
 * treated like one above the cap: picked for without being read.
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
