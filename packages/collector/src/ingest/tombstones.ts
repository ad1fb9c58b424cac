/**
 * Endpoints that left, with the newest (epoch, seq) known of them, so that a repeat or a late frame
 * does not bring them back to life. Kept while somebody still repeats them, and for
 * {@link tombstoneMs} after; bounded, the oldest go first.
 *
 * Only consulted for endpoints without a slot, so the text made of a key costs nothing in steady
 * state.
 */
import { compareOrder, type Verdict, verdict } from '@leadsman/wire';

/** As long as a sender may be idle: after that nothing late is on its way. */
export const tombstoneMs = 60_000;

interface Tombstone {
  epoch: number;
  seq: number;
  /** When the endpoint left. */
  leftAtMs: number;
  /** When it was last repeated. */
  heardAtMs: number;
}

export class Tombstones {
  readonly #max: number;
  /** In the order of `heardAtMs`. */
  readonly #byTarget = new Map<string, Tombstone>();

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#byTarget.size;
  }

  /** `false` when what is noted already is as new. */
  add(target: string, epoch: number, seq: number, nowMs: number): boolean {
    const old = this.#byTarget.get(target);
    if (old !== undefined && compareOrder(epoch, seq, old.epoch, old.seq, 0) !== verdict.newer) {
      return false;
    }
    this.#touch(target, { epoch, seq, leftAtMs: nowMs, heardAtMs: nowMs });
    if (this.#byTarget.size > this.#max) {
      const oldest = this.#byTarget.keys().next();
      if (oldest.done === false) this.#byTarget.delete(oldest.value);
    }
    return true;
  }

  /**
   * How a report compares with what was last known of an endpoint that left; `newer` when nothing
   * is known. A report that may live again removes the tombstone. `deafMs` is what the reader stood
   * still right before: no silence of the endpoint.
   */
  admit(target: string, epoch: number, seq: number, nowMs: number, deafMs: number): Verdict {
    const stone = this.#byTarget.get(target);
    if (stone === undefined) return verdict.newer;
    const result = compareOrder(
      epoch,
      seq,
      stone.epoch,
      stone.seq,
      nowMs - stone.leftAtMs - deafMs,
    );
    if (result === verdict.newer || result === verdict.takeover) {
      this.#byTarget.delete(target);
    } else {
      stone.heardAtMs = nowMs;
      this.#touch(target, stone);
    }
    return result;
  }

  expire(nowMs: number): void {
    for (const [target, stone] of this.#byTarget) {
      if (nowMs - stone.heardAtMs <= tombstoneMs) return;
      this.#byTarget.delete(target);
    }
  }

  /** (Re)inserts at the end: a Map iterates in the order of insertion. */
  #touch(target: string, stone: Tombstone): void {
    this.#byTarget.delete(target);
    this.#byTarget.set(target, stone);
  }
}
