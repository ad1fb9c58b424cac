/**
 * Who used a prompt block last, and how popular it is: for each of the most recent *landmarks* its
 * latest four endpoints and a count of uses.
 *
 * ```
 * entry 16 B   u32 tag of the block (odd), four u16 endpoint + 1 (0 none), u16 uses, u16 clock
 * ```
 *
 * Landmarks are the first block of a prompt and every fourth: what is found through them is checked
 * block by block elsewhere, so a coarser grain does no harm and costs a quarter.
 *
 * Four entries share a set and a cache line; the least recently used one gives way. The clock ticks
 * every 64 prompts of this picker, which are counted in the word before the entries. Uses are a
 * decaying count, halved with every 1,024 prompts, so that `uses / usesOfAll()` is the block's share
 * of them.
 */

const ways = 4;
const entryWords = 4;
const clockShift = 6;
/** Ticks after which a count of uses is halved: 1,024 prompts. */
const halvedAfterTicks = 16;
const usesMax = 0xffff;
const usesOne = 16;

/** Holders remembered per block. */
export const holdersMax = 4;
const halvedAfterPrompts = halvedAfterTicks << clockShift;
/** As many as an entry, so that entries begin at a cache line. */
const headerWords = 16;
export const landmarkEvery = 4;

/** The position in the prompt of its n-th landmark. */
export function landmark(nth: number): number {
  return nth === 0 ? 0 : nth * landmarkEvery - 1;
}

export class BlockHolders {
  readonly #words: Int32Array;
  readonly #setMask: number;

  /** Words for at least `entries` blocks. */
  static words(entries: number): number {
    return headerWords + setsFor(entries) * ways * entryWords;
  }

  constructor(words: Int32Array, entries: number) {
    this.#words = words;
    this.#setMask = setsFor(entries) - 1;
  }

  knows(high: number, low: number): boolean {
    return this.#find(high, low) >= 0;
  }

  /** Writes the block's holders, latest first, into `into`; returns their number. */
  read(high: number, low: number, into: Int32Array): number {
    const entry = this.#find(high, low);
    if (entry < 0) return 0;
    let written = 0;
    for (let i = 0; i < holdersMax; i++) {
      const holder = this.#holder(entry, i);
      if (holder > 0) into[written++] = holder - 1;
    }
    return written;
  }

  /** Decayed count of the block's uses; 0 for a block that is not known. */
  uses(high: number, low: number): number {
    const entry = this.#find(high, low);
    return entry < 0 ? 0 : this.#decayed(entry) / usesOne;
  }

  /** Begins the entry of a prompt. */
  tick(): void {
    Atomics.add(this.#words, 0, 1);
  }

  /** Uses that a block of every prompt would have by now: all prompts, decayed as uses are. */
  usesOfAll(): number {
    const prompts = this.#words[0]! >>> 0;
    return (halvedAfterPrompts / Math.LN2) * (1 - 2 ** (-prompts / halvedAfterPrompts));
  }

  /** Puts the endpoint first among the block's holders. `counts`: this is a use, not hearsay. */
  add(high: number, low: number, endpoint: number, counts: boolean): void {
    let entry = this.#find(high, low);
    if (entry < 0) entry = this.#replaceOldest(high, low);
    const holder = endpoint + 1;
    let at = 0;
    while (at < holdersMax - 1 && this.#holder(entry, at) !== holder) at++;
    for (; at > 0; at--) this.#setHolder(entry, at, this.#holder(entry, at - 1));
    this.#setHolder(entry, 0, holder);
    const uses = Math.min(usesMax, Math.round(this.#decayed(entry)) + (counts ? usesOne : 0));
    this.#words[entry + 3] = uses | (this.#clock() << 16);
  }

  #decayed(entry: number): number {
    const word = this.#words[entry + 3]!;
    const ticks = (this.#clock() - (word >>> 16)) & 0xffff;
    // Another worker may have written a moment later than we read the clock.
    if (ticks === 0 || ticks >= 0x8000) return word & 0xffff;
    return (word & 0xffff) * 2 ** (-ticks / halvedAfterTicks);
  }

  #clock(): number {
    return (this.#words[0]! >>> clockShift) & 0xffff;
  }

  #setAt(high: number): number {
    return headerWords + (high & this.#setMask) * ways * entryWords;
  }

  #find(high: number, low: number): number {
    const at = this.#setAt(high);
    const tag = low | 1;
    for (let entry = at; entry < at + ways * entryWords; entry += entryWords) {
      if (this.#words[entry] === tag) return entry;
    }
    return -1;
  }

  #replaceOldest(high: number, low: number): number {
    const at = this.#setAt(high);
    let victim = at;
    let oldest = -1;
    for (let entry = at; entry < at + ways * entryWords; entry += entryWords) {
      const isFree = this.#words[entry] === 0;
      const age = isFree ? 0x1_0000 : (this.#clock() - (this.#words[entry + 3]! >>> 16)) & 0xffff;
      if (age > oldest) {
        oldest = age;
        victim = entry;
      }
    }
    this.#words[victim + 1] = 0;
    this.#words[victim + 2] = 0;
    this.#words[victim + 3] = this.#clock() << 16;
    this.#words[victim] = low | 1;
    return victim;
  }

  /** Holders 0 … 3 are the halves of words 1 and 2. */
  #holder(entry: number, at: number): number {
    const word = this.#words[entry + 1 + (at >> 1)]!;
    return at % 2 === 0 ? word & 0xffff : word >>> 16;
  }

  #setHolder(entry: number, at: number, holder: number): void {
    const word = entry + 1 + (at >> 1);
    const old = this.#words[word]!;
    this.#words[word] = at % 2 === 0 ? (old & ~0xffff) | holder : (old & 0xffff) | (holder << 16);
  }
}

function setsFor(entries: number): number {
  return 2 ** Math.max(0, Math.ceil(Math.log2(entries / ways)));
}
