/**
 * Which prompt blocks each endpoint probably holds in its KV cache: one small LRU per endpoint,
 * imitating the engine's own.
 *
 * ```
 * header   8 B per endpoint   u32 mask of its sets (0 = not sized yet), u32 clock
 * blocks   4 B × 8 ways × sets per endpoint: u16 fingerprint (never 0), u16 clock of last use
 * ```
 *
 * The clock counts the prompts entered for that endpoint, so an entry's age is in requests. A
 * fingerprint meets a stranger's in 8 of 65,536 lookups, which stretches a match by a block.
 */

const ways = 8;
const headerWords = 2;
/** Tokens assumed for an endpoint that does not tell its KV capacity. */
const capacityTokensDefault = 524_288;
/**
 * Room per KV token. Blocks do not fall evenly into sets: without slack some sets overflow long
 * before the cache is full, and one lost block cuts the match of its whole prompt short, which
 * sends requests away from the endpoint that has their prefix. Room to spare does no harm.
 */
const slack = 2;

export class EndpointBlocks {
  /** Endpoints from here on have no room: they hold nothing and cannot be entered. */
  readonly endpointsMax: number;
  readonly #words: Int32Array;
  readonly #blocksAt: number;
  readonly #setsMax: number;
  readonly #blockTokens: number;

  /** Words needed for `endpointsMax` endpoints with room for `tokensMax` tokens each. */
  static words(endpointsMax: number, tokensMax: number, blockTokens: number): number {
    return endpointsMax * (headerWords + setsFor(tokensMax, blockTokens) * ways);
  }

  constructor(words: Int32Array, endpointsMax: number, tokensMax: number, blockTokens: number) {
    this.#words = words;
    this.endpointsMax = endpointsMax;
    this.#blocksAt = endpointsMax * headerWords;
    this.#setsMax = setsFor(tokensMax, blockTokens);
    this.#blockTokens = blockTokens;
  }

  /** Sizes the endpoint's LRU to its KV cache; NaN = unknown. A new size loses entries. */
  setCapacity(endpoint: number, kvCapacityTokens: number): void {
    if (endpoint >= this.endpointsMax) return;
    const tokens = kvCapacityTokens > 0 ? kvCapacityTokens : capacityTokensDefault;
    const mask = Math.min(this.#setsMax, setsFor(tokens * slack, this.#blockTokens)) - 1;
    const at = endpoint * headerWords;
    if (this.#words[at] !== mask) this.#words[at] = mask;
  }

  /** Forgets an endpoint whose index may be given to another. */
  clear(endpoint: number): void {
    if (endpoint >= this.endpointsMax) return;
    // Where nothing was ever entered the memory is not backed yet, and shall stay so.
    if (this.#words[endpoint * headerWords + 1] === 0) return;
    const words = this.#setsMax * ways;
    const at = this.#blocksAt + endpoint * words;
    this.#words.fill(0, at, at + words);
    this.#words.fill(0, endpoint * headerWords, (endpoint + 1) * headerWords);
  }

  /** Begins the entry of a prompt; returns the clock to enter its blocks with. */
  nextClock(endpoint: number): number {
    const at = endpoint * headerWords;
    if (this.#words[at] === 0) this.setCapacity(endpoint, Number.NaN);
    const clock = (this.#words[at + 1]! + 1) | 0;
    this.#words[at + 1] = clock;
    return clock;
  }

  holds(endpoint: number, high: number, low: number): boolean {
    const at = this.#setAt(endpoint, high);
    const print = fingerprint(low);
    for (let way = 0; way < ways; way++) {
      if (this.#words[at + way]! >>> 16 === print) return true;
    }
    return false;
  }

  /**
   * Marks a block as used at `clock`, in place of its set's least recently used one if it is new.
   * Returns how many requests ago it was used, `Infinity` when it is new.
   */
  touch(endpoint: number, high: number, low: number, clock: number): number {
    const at = this.#setAt(endpoint, high);
    const print = fingerprint(low);
    const entry = (print << 16) | (clock & 0xffff);
    let victim = at;
    let oldest = -1;
    for (let way = 0; way < ways; way++) {
      const word = this.#words[at + way]!;
      const age = word === 0 ? 0x1_0000 : (clock - word) & 0xffff;
      if (word >>> 16 === print) {
        this.#words[at + way] = entry;
        return age;
      }
      if (age > oldest) {
        oldest = age;
        victim = at + way;
      }
    }
    this.#words[victim] = entry;
    return Number.POSITIVE_INFINITY;
  }

  /** The clock of the prompt that was entered last. */
  clockOf(endpoint: number): number {
    return endpoint < this.endpointsMax ? this.#words[endpoint * headerWords + 1]! : 0;
  }

  /** Takes a block out again, unless it was used after `clock`. */
  forget(endpoint: number, high: number, low: number, clock: number): void {
    if (endpoint >= this.endpointsMax) return;
    const at = this.#setAt(endpoint, high);
    const entry = (fingerprint(low) << 16) | (clock & 0xffff);
    for (let way = 0; way < ways; way++) {
      if (this.#words[at + way] === entry) this.#words[at + way] = 0;
    }
  }

  #setAt(endpoint: number, high: number): number {
    const mask = this.#words[endpoint * headerWords]!;
    return this.#blocksAt + (endpoint * this.#setsMax + (high & mask)) * ways;
  }
}

function fingerprint(low: number): number {
  return low >>> 16 || 1;
}

/** Sets for so many tokens: a power of two, at least 2, so that a mask of 0 means "not sized". */
function setsFor(tokens: number, blockTokens: number): number {
  const sets = Math.ceil(tokens / blockTokens / ways);
  return Math.max(2, 2 ** Math.ceil(Math.log2(sets)));
}
