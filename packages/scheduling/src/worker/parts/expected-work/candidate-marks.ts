/**
 * Where in the candidate list of the current pick a position of the table stands, if it does:
 * endpoints that are found by other ways than the list may only be picked when they are in it.
 *
 * Each pick writes its own number beside every candidate, so nothing is cleared between two picks.
 * The number wraps at 2³¹ (two and a half days at 10,000 picks/s); the marks are cleared then.
 *
 * Cost: one pass over the candidates per pick; memory 8 B per position.
 */
const marksMax = 0x7fff_ffff;

export class CandidateMarks {
  #slotOf = new Int32Array(0);
  #markedBy = new Int32Array(0);
  #mark: number;

  /** `used`: picks that were made before, for tests of the wrap. */
  constructor(used = 0) {
    this.#mark = used;
  }

  /** Begins a pick among `candidates`, positions of a table of `positions` endpoints. */
  begin(candidates: Int32Array, count: number, positions: number): void {
    if (this.#markedBy.length < positions) {
      this.#markedBy = new Int32Array(positions);
      this.#slotOf = new Int32Array(positions);
    }
    if (this.#mark === marksMax) {
      this.#markedBy.fill(0);
      this.#mark = 0;
    }
    const mark = ++this.#mark;
    for (let slot = 0; slot < count; slot++) {
      const position = candidates[slot]!;
      this.#markedBy[position] = mark;
      this.#slotOf[position] = slot;
    }
  }

  /** The slot of a position in the list, -1 when it is not there. */
  slotOf(position: number): number {
    return this.#markedBy[position] === this.#mark ? this.#slotOf[position]! : -1;
  }
}
