/**
 * Cuts a prompt into blocks and hashes them, each hash standing for the whole text up to its
 * block's end: two prompts share the hash of block i exactly when they share all text before it
 * (but for collisions of 64 bits).
 *
 * A block is 256 bytes of text, about 64 tokens: four of vLLM's own blocks, so what is lost to
 * the coarser grain is 32 tokens on average, a few milliseconds of prefill.
 *
 * Hash: two 32-bit lanes over little-endian words with Murmur3's multipliers. No cryptography: an
 * attacker who finds collisions gains a worse pick for himself.
 *
 * Cost: about 0.5 µs per KB of prompt (`npm run bench -- pick`); nothing is allocated.
 */
import { mix32 } from './hash-text.ts';

export const blockBytes = 256;
/** Average of English text and code over common tokenisers. */
export const bytesPerToken = 4;
export const blockTokens = blockBytes / bytesPerToken;
/** Blocks of one prompt at most: 512 KB of text, 128k tokens. What follows never matches. */
export const blocksMax = 2_048;

const wordsPerBlock = blockBytes / 4;

/** The block hashes of one prompt. One object per worker, overwritten by every prompt. */
export class BlockHashes {
  count = 0;
  /** Tokens that one block stands for. */
  blockTokens = blockTokens;
  readonly high = new Int32Array(blocksMax);
  readonly low = new Int32Array(blocksMax);
  // Prompts may begin at any byte, words may not: hence one copy into aligned memory.
  readonly #bytes = new Uint8Array(blockBytes * 64);
  readonly #words = new Int32Array(this.#bytes.buffer);

  /** No blocks: an unknown prompt. */
  clear(): void {
    this.count = 0;
  }

  /**
   * Hashes the whole blocks of a prompt; a shorter rest is left out, as engines share whole blocks
   * only. `seed` tells apart what must not be shared: pool, model, adapter.
   */
  set(prompt: Uint8Array, seed: number): void {
    this.count = Math.min(blocksMax, Math.floor(prompt.length / blockBytes));
    this.blockTokens = blockTokens;
    const chunkBlocks = this.#bytes.length / blockBytes;
    let high = mix32(seed ^ 0x9747b28c);
    let low = mix32(seed);
    for (let first = 0; first < this.count; first += chunkBlocks) {
      const blocks = Math.min(chunkBlocks, this.count - first);
      this.#bytes.set(prompt.subarray(first * blockBytes, (first + blocks) * blockBytes));
      for (let block = 0; block < blocks; block++) {
        const end = (block + 1) * wordsPerBlock;
        for (let at = block * wordsPerBlock; at < end; at += 2) {
          const even = Math.imul(this.#words[at]!, 0xcc9e2d51 | 0);
          const odd = Math.imul(this.#words[at + 1]!, 0x1b873593);
          high = Math.imul(high ^ ((even << 15) | (even >>> 17)), 5) + odd;
          high = (high << 13) | (high >>> 19);
          low = Math.imul(low ^ ((odd << 16) | (odd >>> 16)), 0x01000193) + even;
          low = (low << 11) | (low >>> 21);
        }
        high = mix32(high ^ low);
        low = mix32((low + Math.imul(high, 0x9e3779b1 | 0)) | 0);
        this.high[first + block] = high;
        this.low[first + block] = low;
      }
    }
  }
}
