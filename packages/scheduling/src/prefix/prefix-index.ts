/**
 * Which endpoint probably still holds how much of a prompt, from the history of picks: those of
 * this process are entered at once, those of other replicas as they tell.
 *
 * Two tables in one shared buffer, used by all workers of a picker without locks:
 * {@link EndpointBlocks} answers "does this endpoint hold this block" with one cache line, and
 * {@link BlockHolders} "who used this block last, and how often is it used". The second proposes,
 * the first has the last word.
 *
 * Races: words are written whole, but two workers may overwrite each other's entry. The index is
 * advice: a lost or wrong entry costs a cache hit, never a wrong or failed request.
 *
 * Cost (`npm run bench -- pick`): matching a 4 KB prompt (16 blocks) at one endpoint takes some
 * 4·log₂(16) probes, entering it one cache line per block and one per four. Nothing is allocated.
 * Memory: per endpoint 8 KB and 4 B / 0.6 for each 64 tokens of twice its KV cache (0.4 MB for 2M
 * tokens: 42 MB for 100 such endpoints, 0.4 GB for 1,000, 4.3 GB for 10,000), and 16 B per distinct
 * landmark. The system backs only what is used.
 */
import { type AllocateShared, allocateInProcess } from '@leadsman/service/processes/shared-memory';
import type { BlockHashes } from './block-hash.ts';
import { BlockHolders, landmark, landmarkEvery } from './block-holders.ts';
import { EndpointBlocks } from './endpoint-blocks.ts';
import { HitFeedback } from './hit-feedback.ts';

export interface PrefixIndexShape {
  endpointsMax: number;
  /** Room per endpoint; an engine with more KV tokens is treated as if it had this many. */
  tokensPerEndpointMax: number;
  /** Distinct blocks whose latest holders are remembered. */
  distinctBlocksMax: number;
  /** Tokens of one block. */
  blockTokens: number;
}

/** Endpoint indexes travel as 16 bits within the index. */
const endpointsLimit = 65_534;

/** Reserves the memory of an index; the system backs only the pages that are used. */
export function createPrefixBuffer(
  shape: PrefixIndexShape,
  allocate: AllocateShared = allocateInProcess,
): ArrayBufferLike {
  if (shape.endpointsMax > endpointsLimit) {
    throw new RangeError(`a prefix index has room for ${endpointsLimit} endpoints`);
  }
  return allocate(4 * (blockWords(shape) + BlockHolders.words(shape.distinctBlocksMax)));
}

export class PrefixIndex {
  readonly blocks: EndpointBlocks;
  readonly feedback: HitFeedback;
  readonly #holders: BlockHolders;

  /** `shape` must be that of the buffer's creation. */
  constructor(buffer: ArrayBufferLike, shape: PrefixIndexShape) {
    const words = blockWords(shape);
    const own = new Int32Array(buffer, 0, words);
    this.blocks = new EndpointBlocks(
      own,
      shape.endpointsMax,
      shape.tokensPerEndpointMax,
      shape.blockTokens,
    );
    this.feedback = new HitFeedback(own, this.blocks);
    this.#holders = new BlockHolders(new Int32Array(buffer, words * 4), shape.distinctBlocksMax);
  }

  /** How many blocks from the prompt's start the endpoint holds. */
  match(endpoint: number, hashes: BlockHashes): number {
    const { count } = hashes;
    if (count === 0 || endpoint >= this.blocks.endpointsMax) return 0;
    if (!this.#reaches(endpoint, hashes, 0)) return 0;
    // Prompts are entered as chains and forgotten from their ends, so whoever holds a block mostly
    // holds those before it.
    let held = 1;
    let step = 1;
    while (held + step <= count && this.#reaches(endpoint, hashes, held + step - 1)) {
      held += step;
      step *= 2;
    }
    for (; step >= 1; step >>= 1) {
      if (held + step <= count && this.#reaches(endpoint, hashes, held + step - 1)) held += step;
    }
    while (held > 0 && !this.#holds(endpoint, hashes, held - 1)) held--;
    return held;
  }

  /**
   * Writes the endpoints that used the longest known part of the prompt last into `into`, at most
   * `holdersMax`; returns their number. They may have lost it since: {@link match} knows.
   */
  latestHolders(hashes: BlockHashes, into: Int32Array): number {
    const known = this.#lastLandmark(hashes, 0);
    return known < 0 ? 0 : this.#holders.read(hashes.high[known]!, hashes.low[known]!, into);
  }

  /** Blocks from the prompt's start that have been used `uses` times lately (decayed), or more. */
  popularBlocks(hashes: BlockHashes, uses: number): number {
    const last = this.#lastLandmark(hashes, uses);
    return last < 0 ? 0 : last + 1;
  }

  /** Decayed count of uses of the landmark that ends the first `blocks` blocks. */
  usesOf(hashes: BlockHashes, blocks: number): number {
    const at = landmark(Math.floor(blocks / landmarkEvery));
    return this.#holders.uses(hashes.high[at]!, hashes.low[at]!);
  }

  /** What {@link usesOf} is for a text of every prompt. */
  usesOfAll(): number {
    return this.#holders.usesOfAll();
  }

  /**
   * Enters a prompt sent to an endpoint; `isOwn` = by this process, not told by another replica.
   * Returns how many of its blocks, from the first, were used there so recently that other replicas
   * need not hear of them again.
   */
  enter(endpoint: number, hashes: BlockHashes, isOwn = true): number {
    if (hashes.count === 0 || endpoint >= this.blocks.endpointsMax) return 0;
    const recent = this.blocks.enter(endpoint, hashes);
    if (isOwn) this.#holders.tick();
    const landmarks = 1 + Math.floor(hashes.count / landmarkEvery);
    for (let nth = 0; nth < landmarks; nth++) {
      const at = landmark(nth);
      this.#holders.add(hashes.high[at]!, hashes.low[at]!, endpoint, isOwn);
    }
    return recent;
  }

  /**
   * Whether the endpoint holds the chain up to a block, by two of three neighbours: a block that was
   * lost, or a stranger's fingerprint, does not decide alone.
   */
  #reaches(endpoint: number, hashes: BlockHashes, block: number): boolean {
    const { count } = hashes;
    const second = block > 0 ? block - 1 : Math.min(1, count - 1);
    const own = this.#holds(endpoint, hashes, block);
    if (this.#holds(endpoint, hashes, second) === own || count < 3) return own;
    return this.#holds(endpoint, hashes, block > 1 ? block - 2 : 2);
  }

  #holds(endpoint: number, hashes: BlockHashes, block: number): boolean {
    return this.blocks.holds(endpoint, hashes.high[block]!, hashes.low[block]!);
  }

  /** The last landmark that is known and has `uses` uses, by bisection; -1 when none is. */
  #lastLandmark(hashes: BlockHashes, uses: number): number {
    if (hashes.count === 0 || !this.#isKnown(hashes, 0, uses)) return -1;
    let known = 0;
    let unknown = 1 + Math.floor(hashes.count / landmarkEvery);
    while (unknown - known > 1) {
      const middle = (known + unknown) >> 1;
      if (this.#isKnown(hashes, middle, uses)) known = middle;
      else unknown = middle;
    }
    return landmark(known);
  }

  #isKnown(hashes: BlockHashes, nth: number, uses: number): boolean {
    const at = landmark(nth);
    const high = hashes.high[at]!;
    const low = hashes.low[at]!;
    return uses > 0 ? this.#holders.uses(high, low) >= uses : this.#holders.knows(high, low);
  }
}

function blockWords(shape: PrefixIndexShape): number {
  return EndpointBlocks.words(shape.endpointsMax, shape.tokensPerEndpointMax, shape.blockTokens);
}
