/**
 * The wanted samples of one page, as parallel arrays that are reused from page to page. Label text
 * stays where it is and is decoded by whoever wants it ({@link LabelCursor}).
 *
 * Most samples of a page carry the same few label lists, so a sample refers to a *label set*: a
 * stretch of the page that was checked once. Two sets may have equal text; one set is never two
 * texts. What is derived from labels is therefore worked out per set, not per sample.
 *
 * What was lost is kept by name: a family of which a line is missing is not a smaller number but
 * an unknown one.
 *
 * Valid until the next page is parsed into the same object, or the page's bytes change.
 */

/** Samples of one name: 64 ranks with a dozen label values each have fewer. */
export const samplesOfNameMax = 2_048;

/** Wanted samples of one page. A page of 64 ranks with five finish reasons has about 3,000. */
const samplesMax = 16_384;

/**
 * Bytes of one wanted line. Multi-megabyte label values have been seen in the field; a line this
 * long is noted as lost instead of being decoded 20 times a second.
 */
export const lineBytesMax = 65_536;

/** Why lines of a name are missing; bits. */
export const loss = {
  /** A line breaks the format's rules. */
  malformed: 1,
  /** A line is longer than {@link lineBytesMax}. */
  tooLong: 2,
  /** There are more samples than {@link samplesOfNameMax} or {@link samplesMax}. */
  tooMany: 4,
} as const;

/** The set of a sample without labels. */
export const noSet = -1;

/** No newest sample; a sample without labels has -1. */
const none = -2;

const samplesAtFirst = 256;

/** Sets compared before the list is read again; pages with few ranks have no more of them. */
const setsCompared = 8;

export class Samples {
  bytes: Buffer = Buffer.alloc(0);
  count = 0;
  /** Index into the names that were asked for. */
  name = new Int32Array(samplesAtFirst);
  value = new Float64Array(samplesAtFirst);
  /** The sample's label set, {@link noSet} for none. */
  set = new Int32Array(samplesAtFirst);
  setCount = 0;
  /** Offsets of a set's text, braces not included. */
  setFrom = new Int32Array(samplesAtFirst);
  setTo = new Int32Array(samplesAtFirst);
  /** Lines of wanted names, or of no known kind, that break the format's rules. */
  malformedLines = 0;
  /** Samples beyond the bounds, and lines beyond {@link lineBytesMax}. */
  droppedSamples = 0;
  /** Samples that should tell a time by their value, and do not. */
  timelessSamples = 0;
  /** By index of the name: bits of {@link loss}. */
  lost = new Uint8Array(0);
  /** By index of the name: its samples. */
  #seen = new Int32Array(0);
  /** By index of the name, where only the newest counts: its value and where its labels are. */
  #newestValue = new Float64Array(0);
  #newestFrom = new Int32Array(0);
  #newestTo = new Int32Array(0);
  /** The set that followed each set when it was met last: ranks come in the same order again. */
  #follower = new Int32Array(samplesAtFirst);
  #lastSet = noSet;

  /** Begins a page with so many wanted names. */
  reset(bytes: Buffer, names: number): void {
    this.bytes = bytes;
    this.count = 0;
    this.setCount = 0;
    this.malformedLines = 0;
    this.droppedSamples = 0;
    this.timelessSamples = 0;
    this.#lastSet = noSet;
    if (this.lost.length < names) {
      this.lost = new Uint8Array(names);
      this.#seen = new Int32Array(names);
      this.#newestValue = new Float64Array(names);
      this.#newestFrom = new Int32Array(names);
      this.#newestTo = new Int32Array(names);
    }
    this.lost.fill(0);
    this.#seen.fill(0);
    this.#newestFrom.fill(none);
  }

  /** Notes that a line of a name is missing. */
  lose(name: number, why: number): void {
    this.lost[name] = (this.lost[name] as number) | why;
    if (why === loss.malformed) this.malformedLines++;
    else this.droppedSamples++;
  }

  /**
   * Takes a sound sample. `set` is what {@link findSet} gave for its labels in
   * `[labelsFrom, labelsTo)`, or {@link noSet} with `labelsFrom` -1 when it has none.
   */
  take(name: number, value: number, set: number, labelsFrom: number, labelsTo: number): void {
    if (++this.#seen[name]! > samplesOfNameMax || !this.#hasRoom()) {
      this.lose(name, loss.tooMany);
      return;
    }
    const known = labelsFrom >= 0 && set < 0 ? this.#addSet(labelsFrom, labelsTo) : set;
    const at = this.count++;
    this.name[at] = name;
    this.value[at] = value;
    this.set[at] = known;
  }

  /**
   * Takes a sample of a name of which only the one with the largest value counts; it becomes one
   * of the page's by {@link finish}. However many there are, they take the room of one.
   */
  takeNewest(name: number, value: number, labelsFrom: number, labelsTo: number): void {
    if (!Number.isFinite(value) || value < 0) {
      this.timelessSamples++;
      return;
    }
    if (this.#newestFrom[name] !== none && !(value > this.#newestValue[name]!)) return;
    this.#newestValue[name] = value;
    this.#newestFrom[name] = labelsFrom;
    this.#newestTo[name] = labelsTo;
  }

  /** Ends the page. */
  finish(): void {
    for (let name = 0; name < this.#newestFrom.length; name++) {
      const from = this.#newestFrom[name]!;
      if (from === none) continue;
      this.take(name, this.#newestValue[name]!, noSet, from, this.#newestTo[name]!);
    }
  }

  /** The set whose text, closed by a brace, begins at `from` and ends before `end`; -1 if new. */
  findSet(from: number, end: number): number {
    const likely = this.#lastSet < 0 ? 0 : (this.#follower[this.#lastSet] as number);
    if (likely < this.setCount && this.#isSetAt(likely, from, end)) return this.#follow(likely);
    const compared = Math.min(setsCompared, this.setCount);
    for (let set = 0; set < compared; set++) {
      if (set !== likely && this.#isSetAt(set, from, end)) return this.#follow(set);
    }
    return noSet;
  }

  /** Bytes of a set's text. */
  lengthOf(set: number): number {
    return (this.setTo[set] as number) - (this.setFrom[set] as number);
  }

  #addSet(from: number, to: number): number {
    const set = this.setCount++;
    this.setFrom[set] = from;
    this.setTo[set] = to;
    this.#follower[set] = 0;
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

  /** There is never more than one set per sample, so they grow together. */
  #hasRoom(): boolean {
    if (this.count < this.name.length) return true;
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
