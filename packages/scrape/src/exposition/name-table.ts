/**
 * A set of names that is asked, at a place on a page, whether one of them stands there.
 *
 * Most answers are no, and a no should cost two byte loads: the names are hashed by their bytes
 * at two positions, chosen so that they tell the names apart best. A candidate is then compared
 * from its end, as names of one engine begin alike. (A trie over the same names was tried first:
 * each step waits for the one before it, which made it four times slower.)
 */

const buckets = 1_024;

/** Positions tried; names of one engine differ within these. */
const positionsMax = 24;

export class NameTable {
  readonly #names: readonly Uint8Array[];
  readonly #first: number;
  readonly #second: number;
  readonly #head = new Int16Array(buckets).fill(-1);
  readonly #next: Int16Array;

  /** Names must be different, not empty, and ASCII; at most 2,048 of them. */
  constructor(names: readonly string[]) {
    if (names.length > 2 * buckets) throw new RangeError('too many names');
    this.#names = names.map((name) => Buffer.from(name, 'latin1'));
    this.#next = new Int16Array(names.length).fill(-1);
    const shortest = Math.min(positionsMax, ...names.map((name) => name.length));
    [this.#first, this.#second] = bestPositions(names, shortest);
    for (const [index, name] of this.#names.entries()) {
      const bucket = bucketOf(name[this.#first] as number, name[this.#second] as number);
      this.#next[index] = this.#head[bucket] as number;
      this.#head[bucket] = index;
    }
  }

  /** The index of the name that stands at `from` and is followed by a blank, a brace or a
   * quote; or -1. */
  at(bytes: Uint8Array, from: number): number {
    const first = bytes[from + this.#first];
    const second = bytes[from + this.#second];
    if (first === undefined || second === undefined) return -1;
    let index = this.#head[bucketOf(first, second)] as number;
    while (index >= 0) {
      if (isNameAt(this.#names[index] as Uint8Array, bytes, from)) return index;
      index = this.#next[index] as number;
    }
    return -1;
  }
}

function isNameAt(name: Uint8Array, bytes: Uint8Array, from: number): boolean {
  const after = bytes[from + name.length];
  const ends =
    after === 0x20 ||
    after === 0x7b ||
    after === 0x09 ||
    after === 0x0a ||
    after === 0x0d ||
    after === 0x22;
  if (!ends && after !== undefined) return false;
  for (let i = name.length - 1; i >= 0; i--) if (bytes[from + i] !== name[i]) return false;
  return true;
}

function bucketOf(first: number, second: number): number {
  return (first * 37 + second * 11) & (buckets - 1);
}

/** The two positions that leave the fewest names in one bucket. */
function bestPositions(names: readonly string[], shortest: number): [number, number] {
  let best: [number, number] = [0, 0];
  let fewest = Number.POSITIVE_INFINITY;
  for (let first = 0; first < shortest; first++) {
    for (let second = first; second < shortest; second++) {
      const sizes = new Map<number, number>();
      let comparisons = 0;
      for (const name of names) {
        const bucket = bucketOf(name.charCodeAt(first), name.charCodeAt(second));
        const size = (sizes.get(bucket) ?? 0) + 1;
        sizes.set(bucket, size);
        comparisons += size;
      }
      if (comparisons < fewest) {
        fewest = comparisons;
        best = [first, second];
      }
    }
  }
  return best;
}
