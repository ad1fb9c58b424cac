/**
 * Cuts a prompt into blocks and hashes them, each hash standing for the whole text up to its
 * block's end: two prompts share the hash of block i exactly when they share all text before it
 * (but for collisions of 61 bits).
 *
 * Blocks grow with their distance from the prompt's start, so that what a match loses to the grain
 * stays within 1.6 % of the match, and a long prompt costs little more than a short one:
 *
 * ```
 * from      0    32 KB   64 KB   128 KB
 * block   256 B  512 B    1 KB     2 KB      (64, 128, 256, 512 tokens)
 * ```
 *
 * The lowest three bits of `low` are the size class of the block (64 << class tokens), so that
 * whoever gets a hash, another replica say, knows how many tokens it stands for.
 *
 * Hash: four 32-bit lanes over little-endian words, crossed every 256 bytes, finished by Murmur3's
 * mixer. No cryptography: an attacker who finds collisions gains a worse pick for himself.
 *
 * Cost: `npm run bench -- pick` (hash_us_per_kb); nothing is allocated.
 */
import { mix32 } from './hash-text.ts';

/** The smallest block, in bytes and in tokens. */
export const blockBytes = 256;
/** Average of English text and code over common tokenisers. */
export const bytesPerToken = 4;
export const blockTokens = blockBytes / bytesPerToken;
/** Blocks of one prompt at most: 3.6 MB of text. What follows never matches. */
export const blocksMax = 2_048;

const classBits = 7;
/** The first block of each size class. */
const firstOfClass = [0, 128, 192, 256] as const;
const classMax = firstOfClass.length - 1;
const wordsPerUnit = blockBytes / 4;
const chunkUnits = 64;

/** Units of {@link blockBytes} before each block, one entry more than there are blocks. */
const unitsBefore = new Int32Array(blocksMax + 1);
for (let block = 0; block < blocksMax; block++) {
  unitsBefore[block + 1] = unitsBefore[block]! + 2 ** classOfBlock(block);
}

/** Tokens that a block stands for, by its `low` hash. */
export function tokensOfBlock(low: number): number {
  return blockTokens << (low & classBits);
}

/** The block hashes of one prompt. One object per worker, overwritten by every prompt. */
export class BlockHashes {
  count = 0;
  readonly high = new Int32Array(blocksMax);
  readonly low = new Int32Array(blocksMax);
  /** Tokens of each block that a caller hashed; 0: graded by position, as {@link set} makes them. */
  #hashedTokens = 0;
  #hashedClass = 0;
  // Prompts may begin at any byte, words may not: hence one copy into aligned memory.
  readonly #bytes = new Uint8Array(blockBytes * chunkUnits);
  readonly #words = new Int32Array(this.#bytes.buffer);

  /** No blocks: an unknown prompt. */
  clear(): void {
    this.count = 0;
    this.#hashedTokens = 0;
  }

  /** Tokens of the first `blocks` blocks. */
  tokensOf(blocks: number): number {
    const hashed = this.#hashedTokens;
    return hashed === 0 ? unitsBefore[blocks]! * blockTokens : blocks * hashed;
  }

  /**
   * Begins a prompt whose blocks the caller hashed, each of `tokens` tokens, at least 1. Where they
   * are counted by size class, the nearest one stands for them.
   */
  beginHashed(tokens: number): void {
    this.count = 0;
    this.#hashedTokens = tokens;
    const nearest = Math.round(Math.log2(tokens / blockTokens));
    this.#hashedClass = Math.max(0, Math.min(classBits, nearest));
  }

  /** Adds a block to a prompt begun by {@link beginHashed}; beyond {@link blocksMax} it is left out. */
  addHashed(high: number, low: number): void {
    if (this.count >= blocksMax) return;
    this.high[this.count] = high;
    this.low[this.count++] = (low & ~classBits) | this.#hashedClass;
  }

  /**
   * Hashes the whole blocks of a prompt; a shorter rest is left out, as engines share whole blocks
   * only. `seed` tells apart what must not be shared: pool, model, adapter, salt.
   */
  set(prompt: Uint8Array, seed: number): void {
    const units = Math.floor(prompt.length / blockBytes);
    this.count = blocksOf(units);
    this.#hashedTokens = 0;
    const end = unitsBefore[this.count]!;
    const words = this.#words;
    let a = mix32(seed ^ 0x9747b28c);
    let b = mix32(seed);
    let c = mix32(seed ^ 0x2545f491);
    let d = mix32(seed ^ 0x61c88647);
    let block = 0;
    for (let first = 0; first < end; first += chunkUnits) {
      const inChunk = Math.min(chunkUnits, end - first);
      this.#bytes.set(prompt.subarray(first * blockBytes, (first + inChunk) * blockBytes));
      for (let unit = 0; unit < inChunk; unit++) {
        const wordsEnd = (unit + 1) * wordsPerUnit;
        for (let at = unit * wordsPerUnit; at < wordsEnd; at += 4) {
          a = Math.imul(a ^ words[at]!, 0xcc9e2d51 | 0);
          b = Math.imul(b ^ words[at + 1]!, 0x1b873593);
          c = Math.imul(c ^ words[at + 2]!, 0x85ebca6b | 0);
          d = Math.imul(d ^ words[at + 3]!, 0xc2b2ae35 | 0);
          a = (a << 15) | (a >>> 17);
          b = (b << 13) | (b >>> 19);
          c = (c << 11) | (c >>> 21);
          d = (d << 17) | (d >>> 15);
        }
        a = (a + d) | 0;
        b ^= a;
        c = (c + b) | 0;
        d ^= c;
        if (first + unit + 1 < unitsBefore[block + 1]!) continue;
        this.high[block] = mix32(a ^ mix32(b + c));
        this.low[block] = (mix32(c ^ mix32(d + a)) & ~classBits) | classOfBlock(block);
        block++;
      }
    }
  }
}

function classOfBlock(block: number): number {
  let found = classMax;
  while (block < firstOfClass[found]!) found--;
  return found;
}

/** Whole blocks among so many units. */
function blocksOf(units: number): number {
  let low = 0;
  let high = blocksMax;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (unitsBefore[middle]! <= units) low = middle;
    else high = middle - 1;
  }
  return low;
}
