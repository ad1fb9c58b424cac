/**
 * The wanted samples of one page, as parallel arrays that are reused from page to page. Label text
 * stays where it is and is decoded by whoever wants it ({@link LabelCursor}).
 *
 * Most samples of a page carry the same few label lists, so a sample refers to a *label set*: a
 * stretch of the page that was checked once. Two sets may have equal text; one set is never two
 * texts. What is derived from labels is therefore worked out per set, not per sample.
 *
 * Valid until the next page is parsed into the same object, or the page's bytes change.
 */

/**
 * Wanted samples of one page. A page of 64 ranks with five finish reasons has about 3,000; what
 * goes beyond is dropped and counted.
 */
export const samplesMax = 16_384;

/**
 * Bytes of one wanted line. Multi-megabyte label values have been seen in the field; a line this
 * long is dropped and counted instead of decoded 20 times a second.
 */
export const lineBytesMax = 65_536;

const samplesAtFirst = 256;

/** Sets compared before the list is read again; pages with few ranks have no more of them. */
const setsCompared = 8;

export class Samples {
  bytes: Buffer = Buffer.alloc(0);
  count = 0;
  /** Index into the names that were asked for. */
  name = new Int32Array(samplesAtFirst);
  value = new Float64Array(samplesAtFirst);
  /** The sample's label set, -1 for none. */
  set = new Int32Array(samplesAtFirst);
  setCount = 0;
  /** Offsets of a set's text, braces not included. */
  setFrom = new Int32Array(samplesAtFirst);
  setTo = new Int32Array(samplesAtFirst);
  /** Lines of wanted names, or of no known kind, that break the format's rules. */
  malformedLines = 0;
  /** Sound samples beyond {@link samplesMax}, and lines beyond {@link lineBytesMax}. */
  droppedSamples = 0;
  /** The set that followed each set when it was met last: ranks come in the same order again. */
  #follower = new Int32Array(samplesAtFirst);
  #lastSet = -1;

  reset(bytes: Buffer): void {
    this.bytes = bytes;
    this.count = 0;
    this.setCount = 0;
    this.malformedLines = 0;
    this.droppedSamples = 0;
    this.#lastSet = -1;
  }

  add(name: number, value: number, set: number): void {
    const at = this.count;
    if (at === this.name.length && !this.#grow()) {
      this.droppedSamples++;
      return;
    }
    this.name[at] = name;
    this.value[at] = value;
    this.set[at] = set;
    this.count = at + 1;
  }

  /** The set whose text, closed by a brace, begins at `from` and ends before `end`; -1 if new. */
  findSet(from: number, end: number): number {
    const likely = this.#lastSet < 0 ? 0 : (this.#follower[this.#lastSet] as number);
    if (likely < this.setCount && this.#isSetAt(likely, from, end)) return this.#follow(likely);
    const compared = Math.min(setsCompared, this.setCount);
    for (let set = 0; set < compared; set++) {
      if (set !== likely && this.#isSetAt(set, from, end)) return this.#follow(set);
    }
    return -1;
  }

  /** Notes a set that was checked; returns it, or -1 when there is no room for more samples. */
  addSet(from: number, to: number): number {
    const set = this.setCount;
    if (set === this.setFrom.length && !this.#grow()) return -1;
    this.setFrom[set] = from;
    this.setTo[set] = to;
    this.#follower[set] = 0;
    this.setCount = set + 1;
    return this.#follow(set);
  }

  #follow(set: number): number {
    if (this.#lastSet >= 0) this.#follower[this.#lastSet] = set;
    this.#lastSet = set;
    return set;
  }

  #isSetAt(set: number, from: number, end: number): boolean {
    const setFrom = this.setFrom[set] as number;
    const length = (this.setTo[set] as number) - setFrom;
    const close = from + length;
    const bytes = this.bytes;
    if (close >= end || bytes[close] !== 0x7d) return false;
    for (let i = length - 1; i >= 0; i--) {
      if (bytes[setFrom + i] !== bytes[from + i]) return false;
    }
    return true;
  }

  #grow(): boolean {
    const size = this.name.length * 2;
    if (size > samplesMax) return false;
    this.name = grown(this.name, new Int32Array(size));
    this.value = grown(this.value, new Float64Array(size));
    this.set = grown(this.set, new Int32Array(size));
    this.setFrom = grown(this.setFrom, new Int32Array(size));
    this.setTo = grown(this.setTo, new Int32Array(size));
    this.#follower = grown(this.#follower, new Int32Array(size));
    return true;
  }
}

function grown<T extends Int32Array | Float64Array>(from: T, to: T): T {
  to.set(from as never);
  return to;
}
