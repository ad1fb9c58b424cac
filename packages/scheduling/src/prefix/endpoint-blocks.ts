/**
 * Which prompt blocks each endpoint probably holds in its KV cache: a least-recently-used table per
 * endpoint that forgets when the engine does, by true recency and by tokens.
 *
 * ```
 * header   endpoint-header.ts
 * epochs   4 B × 2,048 per endpoint: tokens last used in that epoch, a ring by epoch number
 * blocks   4 B × 16 ways × sets per endpoint: u16 fingerprint (never 0), u16 epoch of last use
 * ```
 *
 * Time is counted in *epochs*, each 1/256 of the cache's size in tokens used. A block is held while
 * its epoch is above the endpoint's horizon; the horizon rises as soon as the epochs above it hold
 * more tokens than the cache has. So nothing is unlinked or moved when something is forgotten, and
 * the order is exact to 1/256 of the cache. A prompt is entered from its end to its beginning, so
 * that its end is the first to go, as in the engine.
 *
 * A block used within the last {@link recentEpochs} epochs is left where it is. That saves most of
 * the writes of shared prefixes, and changes the order by 1/16 of the cache at most.
 *
 * Sets are filled to 60 % by a full cache; the few that overflow lose their oldest block, which
 * matches are made to bear (prefix-index.ts). A fingerprint meets a stranger's in one of 4,096
 * lookups.
 *
 * Races: words are written whole, and two threads may overwrite each other's entry or count. Counts
 * heal within one turnover: the sum is taken anew with every epoch, and an epoch's own count is
 * dropped when the horizon passes it.
 */
import { type BlockHashes, tokensOfBlock } from './block-hash.ts';
import { header, headerWords } from './endpoint-header.ts';

const ways = 16;
/** Share of the places of a full cache that are in use. */
const fill = 0.6;
const epochsMax = 2_048;
/** Epochs in one turnover of the cache. */
const epochsPerCache = 256;
/** Used this few epochs ago, a block need not be marked again, nor be told to other replicas. */
const recentEpochs = 16;
/** Tokens assumed for an endpoint that does not tell its KV capacity. */
const capacityTokensDefault = 524_288;
/** Room for what a correction may find the engine to hold beyond its reported size. */
export const scaleMax = 2;
/** 1.0 of the scale word. */
const scaleOne = 1_024;
/** Epochs that another thread may be ahead. */
const aheadMax = 256;

export class EndpointBlocks {
  /** Endpoints from here on have no room: they hold nothing and cannot be entered. */
  readonly endpointsMax: number;
  readonly #words: Int32Array;
  readonly #epochsAt: number;
  readonly #blocksAt: number;
  readonly #setsMax: number;
  readonly #blockTokens: number;

  /** Words needed for `endpointsMax` endpoints with room for `tokensMax` tokens each. */
  static words(endpointsMax: number, tokensMax: number, blockTokens: number): number {
    const perEndpoint = headerWords + epochsMax + setsFor(tokensMax, blockTokens) * ways;
    return endpointsMax * perEndpoint;
  }

  constructor(words: Int32Array, endpointsMax: number, tokensMax: number, blockTokens: number) {
    this.#words = words;
    this.endpointsMax = endpointsMax;
    this.#epochsAt = endpointsMax * headerWords;
    this.#blocksAt = this.#epochsAt + endpointsMax * epochsMax;
    this.#setsMax = setsFor(tokensMax, blockTokens);
    this.#blockTokens = blockTokens;
  }

  /** Sizes the endpoint's table to its KV cache; NaN = unknown. A new size loses its entries. */
  setCapacity(endpoint: number, kvCapacityTokens: number): void {
    if (endpoint >= this.endpointsMax) return;
    const known =
      kvCapacityTokens > 0 ? Math.min(2 ** 30, kvCapacityTokens) : capacityTokensDefault;
    const tokens = Math.max(this.#blockTokens, Math.round(known));
    const at = endpoint * headerWords;
    if (this.#words[at + header.capacityTokens] === tokens) return;
    if (this.#words[at + header.sets] !== 0) this.clear(endpoint);
    this.#words[at + header.capacityTokens] = tokens;
    this.#words[at + header.scale] ||= scaleOne;
    this.#words[at + header.clock] ||= 1;
    const sets = Math.min(this.#setsMax, setsFor(tokens * scaleMax, this.#blockTokens));
    Atomics.store(this.#words, at + header.sets, sets);
  }

  /** The part of the endpoint's reported size that the table goes by, 1 = all of it. */
  scaleOf(endpoint: number): number {
    return (this.#words[endpoint * headerWords + header.scale]! || scaleOne) / scaleOne;
  }

  /** Sets it, within 1/16 and {@link scaleMax}. */
  setScale(endpoint: number, scale: number): void {
    const bounded = Math.max(1 / 16, Math.min(scaleMax, scale));
    this.#words[endpoint * headerWords + header.scale] = Math.round(bounded * scaleOne);
    this.#forgetBeyondLimit(endpoint);
  }

  /** Forgets an endpoint whose index may be given to another. */
  clear(endpoint: number): void {
    if (endpoint >= this.endpointsMax) return;
    const at = endpoint * headerWords;
    // Where nothing was ever entered the memory is not backed yet, and shall stay so.
    if (this.#words[at + header.sets] === 0) return;
    this.empty(endpoint);
    this.#words.fill(0, at, at + headerWords);
  }

  /** Forgets all blocks of an endpoint whose engine began anew; its size stays. */
  empty(endpoint: number): void {
    const at = endpoint * headerWords;
    const sets = this.#words[at + header.sets]!;
    const blocks = this.#blocksAt + endpoint * this.#setsMax * ways;
    this.#words.fill(0, blocks, blocks + sets * ways);
    const epochs = this.#epochsAt + endpoint * epochsMax;
    this.#words.fill(0, epochs, epochs + epochsMax);
    this.#words[at + header.heldTokens] = 0;
    this.#words[at + header.epochTokens] = 0;
  }

  /** Tokens that the table holds for the endpoint. */
  heldTokens(endpoint: number): number {
    return this.#words[endpoint * headerWords + header.heldTokens]!;
  }

  /** The epoch in which the latest use was entered. */
  clockOf(endpoint: number): number {
    return endpoint < this.endpointsMax ? this.#words[endpoint * headerWords + header.clock]! : 0;
  }

  holds(endpoint: number, high: number, low: number): boolean {
    const words = this.#words;
    const at = endpoint * headerWords;
    if (words[at + header.sets] === 0) return false;
    const clock = words[at + header.clock]!;
    const window = clock - words[at + header.horizon]!;
    const from = this.#setAt(endpoint, high);
    const print = fingerprint(low);
    for (let way = from; way < from + ways; way++) {
      if (words[way]! >>> 16 === print && ageOf(words[way]!, clock) < window) return true;
    }
    return false;
  }

  /**
   * Marks a prompt's blocks as used now. Returns how many of them, from the first, were used so
   * recently that they were left alone.
   */
  enter(endpoint: number, hashes: Pick<BlockHashes, 'count' | 'high' | 'low'>): number {
    const { count, high, low } = hashes;
    if (count === 0 || endpoint >= this.endpointsMax) return 0;
    if (this.#words[endpoint * headerWords + header.sets] === 0) {
      this.setCapacity(endpoint, Number.NaN);
    }
    let recent = 0;
    while (recent < count && this.#isRecent(endpoint, high[recent]!, low[recent]!)) recent++;
    for (let block = count - 1; block >= recent; block--) {
      this.#use(endpoint, high[block]!, low[block]!);
    }
    this.#forgetBeyondLimit(endpoint);
    return recent;
  }

  /** Counts tokens that take room in the cache under no hash known here: an answer's. */
  fillAnonymous(endpoint: number, tokens: number): void {
    if (endpoint >= this.endpointsMax || !(tokens > 0)) return;
    if (this.#words[endpoint * headerWords + header.sets] === 0) return;
    this.#count(endpoint, Math.round(tokens), Math.round(tokens));
    this.#forgetBeyondLimit(endpoint);
  }

  /** Takes a block out again, unless it was used after the epoch `clock`. */
  forget(endpoint: number, high: number, low: number, clock: number): void {
    const words = this.#words;
    if (endpoint >= this.endpointsMax) return;
    if (words[endpoint * headerWords + header.sets] === 0) return;
    const from = this.#setAt(endpoint, high);
    const print = fingerprint(low);
    for (let way = from; way < from + ways; way++) {
      const word = words[way]!;
      if (word >>> 16 !== print || ((clock - word) & 0xffff) >= 0x8000) continue;
      words[way] = 0;
      this.#leave(endpoint, word, tokensOfBlock(low));
      words[endpoint * headerWords + header.heldTokens]! -= tokensOfBlock(low);
    }
  }

  #isRecent(endpoint: number, high: number, low: number): boolean {
    const words = this.#words;
    const at = endpoint * headerWords;
    const clock = words[at + header.clock]!;
    const window = Math.min(recentEpochs, clock - words[at + header.horizon]!);
    const from = this.#setAt(endpoint, high);
    const print = fingerprint(low);
    for (let way = from; way < from + ways; way++) {
      if (words[way]! >>> 16 === print) return ageOf(words[way]!, clock) < window;
    }
    return false;
  }

  #use(endpoint: number, high: number, low: number): void {
    const words = this.#words;
    const at = endpoint * headerWords;
    const clock = words[at + header.clock]!;
    const window = clock - words[at + header.horizon]!;
    const from = this.#setAt(endpoint, high);
    const print = fingerprint(low);
    const tokens = tokensOfBlock(low);
    let place = from;
    let oldest = -1;
    let isHeld = false;
    for (let way = from; way < from + ways; way++) {
      const word = words[way]!;
      const age = word === 0 ? 0x1_0000 : ageOf(word, clock);
      if (word >>> 16 === print) {
        place = way;
        isHeld = age < window;
        break;
      }
      if (age > oldest) {
        oldest = age;
        place = way;
      }
    }
    if (isHeld) this.#leave(endpoint, words[place]!, tokens);
    words[place] = (print << 16) | (clock & 0xffff);
    this.#count(endpoint, tokens, isHeld ? 0 : tokens);
  }

  /** A block leaves the epoch that its entry names. */
  #leave(endpoint: number, entry: number, tokens: number): void {
    const at = this.#epochsAt + endpoint * epochsMax + (entry & (epochsMax - 1));
    this.#words[at] = Math.max(0, this.#words[at]! - tokens);
  }

  /** Counts use in the current epoch, and opens the next one when this one is full. */
  #count(endpoint: number, used: number, added: number): void {
    const words = this.#words;
    const at = endpoint * headerWords;
    const clock = words[at + header.clock]!;
    words[this.#epochsAt + endpoint * epochsMax + (clock & (epochsMax - 1))]! += used;
    words[at + header.heldTokens]! += added;
    words[at + header.epochTokens]! += used;
    if (words[at + header.epochTokens]! * epochsPerCache >= this.#limit(endpoint)) {
      this.#openEpoch(endpoint);
    }
  }

  #openEpoch(endpoint: number): void {
    const words = this.#words;
    const at = endpoint * headerWords;
    words[at + header.epochTokens] = 0;
    const clock = (words[at + header.clock]! + 1) | 0;
    // The ring of epochs must not meet its own end.
    while (clock - words[at + header.horizon]! >= epochsMax) this.#raiseHorizon(endpoint);
    const epochs = this.#epochsAt + endpoint * epochsMax;
    words[epochs + (clock & (epochsMax - 1))] = 0;
    words[at + header.clock] = clock;
    let held = 0;
    for (let epoch = words[at + header.horizon]! + 1; epoch < clock; epoch++) {
      held += words[epochs + (epoch & (epochsMax - 1))]!;
    }
    words[at + header.heldTokens] = held;
    this.#sweep(endpoint, clock);
  }

  /**
   * Clears entries of forgotten epochs, a part of the table with each epoch, so that none is left
   * when the 16 bits of its epoch come round again.
   */
  #sweep(endpoint: number, clock: number): void {
    const words = this.#words;
    const at = endpoint * headerWords;
    const sets = words[at + header.sets]!;
    const window = clock - words[at + header.horizon]!;
    const blocks = this.#blocksAt + endpoint * this.#setsMax * ways;
    for (let left = Math.ceil(sets / epochsMax); left > 0; left--) {
      const set = words[at + header.sweptSet]! % sets;
      words[at + header.sweptSet] = set + 1;
      for (let way = blocks + set * ways; way < blocks + (set + 1) * ways; way++) {
        if (words[way] !== 0 && ageOf(words[way]!, clock) >= window) words[way] = 0;
      }
    }
  }

  #forgetBeyondLimit(endpoint: number): void {
    const at = endpoint * headerWords;
    const limit = this.#limit(endpoint);
    const words = this.#words;
    while (words[at + header.heldTokens]! > limit) {
      if (words[at + header.horizon]! >= words[at + header.clock]! - 1) return;
      this.#raiseHorizon(endpoint);
    }
  }

  #raiseHorizon(endpoint: number): void {
    const words = this.#words;
    const at = endpoint * headerWords;
    const epoch = words[at + header.horizon]! + 1;
    if (Atomics.compareExchange(words, at + header.horizon, epoch - 1, epoch) !== epoch - 1) return;
    const count = this.#epochsAt + endpoint * epochsMax + (epoch & (epochsMax - 1));
    words[at + header.heldTokens]! -= words[count]!;
    words[count] = 0;
  }

  #limit(endpoint: number): number {
    const at = endpoint * headerWords;
    const words = this.#words;
    return (words[at + header.capacityTokens]! * words[at + header.scale]!) / scaleOne;
  }

  #setAt(endpoint: number, high: number): number {
    const sets = this.#words[endpoint * headerWords + header.sets]!;
    const set = Math.floor(((high >>> 0) * sets) / 0x1_0000_0000);
    return this.#blocksAt + (endpoint * this.#setsMax + set) * ways;
  }
}

/** Epochs since an entry's last use; 0 when another thread was a little ahead of `clock`. */
function ageOf(entry: number, clock: number): number {
  const age = (clock - entry) & 0xffff;
  return age >= 0x1_0000 - aheadMax ? 0 : age;
}

function fingerprint(low: number): number {
  return low >>> 16 || 1;
}

function setsFor(tokens: number, blockTokens: number): number {
  return Math.max(1, Math.ceil(tokens / blockTokens / ways / fill));
}
