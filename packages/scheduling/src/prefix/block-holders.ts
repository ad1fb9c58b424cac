/**
 * Who used a prompt block last: for each of the most recent blocks, its latest five endpoints.
 *
 * ```
 * entry 16 B   u32 tag of the block (odd), five u16 endpoint + 1 (0 none), u16 clock of last use
 * ```
 *
 * Four entries share a set and a cache line; the least recently used one gives way. The clock
 * ticks every 256 prompts, so that 16 bits reach far beyond the table's own turnover.
 */

const ways = 4;
const entryWords = 4;
const clockShift = 8;

/** Holders remembered per block. */
export const holdersMax = 5;

export class BlockHolders {
  readonly #words: Int32Array;
  readonly #setMask: number;
  #prompts = 0;

  /** Words for at least `entries` blocks. */
  static words(entries: number): number {
    return setsFor(entries) * ways * entryWords;
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

  /** Begins the entry of a prompt. */
  tick(): void {
    this.#prompts++;
  }

  /** Puts the endpoint first among the block's holders. */
  add(high: number, low: number, endpoint: number): void {
    let entry = this.#find(high, low);
    if (entry < 0) entry = this.#replaceOldest(high, low);
    const holder = endpoint + 1;
    let at = 0;
    while (at < holdersMax - 1 && this.#holder(entry, at) !== holder) at++;
    for (; at > 0; at--) this.#setHolder(entry, at, this.#holder(entry, at - 1));
    this.#setHolder(entry, 0, holder);
    this.#words[entry + 3] = (this.#words[entry + 3]! & 0xffff) | (this.#clock() << 16);
  }

  #clock(): number {
    return (this.#prompts >>> clockShift) & 0xffff;
  }

  #setAt(high: number): number {
    return (high & this.#setMask) * ways * entryWords;
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
    this.#words[victim + 3] = 0;
    this.#words[victim] = low | 1;
    return victim;
  }

  /** Holders 0 … 4 are the halves of words 1, 2 and the lower half of word 3. */
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
