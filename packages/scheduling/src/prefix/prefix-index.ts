/**
 * Which endpoint probably still holds how much of a prompt, from the history of picks: those of
 * this process are entered at once, those of other replicas as they tell.
 *
 * One shared buffer with two tables, used by all workers of a picker without locks:
 * {@link EndpointBlocks} answers "does this endpoint hold this block" with one cache line, and
 * {@link BlockHolders} "who used this block last". The second proposes, the first has the last
 * word.
 *
 * Races: words are written whole, but two threads may overwrite each other's entry. The index is
 * advice: a lost or wrong entry costs a cache hit, never a wrong or failed request.
 *
 * Cost (`npm run bench -- pick`): matching a 4 KB prompt (16 blocks) at one endpoint takes some
 * 2·log₂(16) probes, entering it two cache lines per block, about 2 µs. Nothing is allocated.
 * Memory: 4 B per block and endpoint and 16 B per distinct block.
 */
import { type AllocateShared, allocateInProcess } from '@leadsman/service/processes/shared-memory';
import type { BlockHashes } from './block-hash.ts';
import { BlockHolders } from './block-holders.ts';
import { EndpointBlocks } from './endpoint-blocks.ts';

export interface PrefixIndexShape {
  endpointsMax: number;
  /** Room per endpoint; an engine with more KV tokens is treated as if it had this many. */
  tokensPerEndpointMax: number;
  /** Distinct blocks whose latest holders are remembered. */
  distinctBlocksMax: number;
  /** Tokens of one block. */
  blockTokens: number;
}

/** Used this few requests ago at an endpoint, a block need not be told to other replicas again. */
const recentRequests = 64;

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
  readonly #holders: BlockHolders;

  /** `shape` must be that of the buffer's creation. */
  constructor(buffer: ArrayBufferLike, shape: PrefixIndexShape) {
    const words = blockWords(shape);
    this.blocks = new EndpointBlocks(
      new Int32Array(buffer, 0, words),
      shape.endpointsMax,
      shape.tokensPerEndpointMax,
      shape.blockTokens,
    );
    this.#holders = new BlockHolders(new Int32Array(buffer, words * 4), shape.distinctBlocksMax);
  }

  /** How many blocks from the prompt's start the endpoint holds. */
  match(endpoint: number, hashes: BlockHashes): number {
    const { count } = hashes;
    if (count === 0 || endpoint >= this.blocks.endpointsMax) return 0;
    if (!this.#holds(endpoint, hashes, 0)) return 0;
    // Prompts are entered as chains, so whoever holds a block mostly holds those before it.
    let held = 1;
    let step = 1;
    while (held + step <= count && this.#holds(endpoint, hashes, held + step - 1)) {
      held += step;
      step *= 2;
    }
    for (; step >= 1; step >>= 1) {
      if (held + step <= count && this.#holds(endpoint, hashes, held + step - 1)) held += step;
    }
    return held;
  }

  /**
   * Writes the endpoints that used the longest known part of the prompt last into `into`, at most
   * `holdersMax`; returns their number. They may have lost it since: {@link match} knows.
   */
  latestHolders(hashes: BlockHashes, into: Int32Array): number {
    if (hashes.count === 0 || !this.#isKnown(hashes, 0)) return 0;
    let known = 0;
    let unknown = hashes.count;
    while (unknown - known > 1) {
      const middle = (known + unknown) >> 1;
      if (this.#isKnown(hashes, middle)) known = middle;
      else unknown = middle;
    }
    return this.#holders.read(hashes.high[known]!, hashes.low[known]!, into);
  }

  /**
   * Enters a prompt sent to an endpoint. Returns how many of its blocks, from the first, were used
   * there so recently that other replicas need not hear of them again.
   */
  enter(endpoint: number, hashes: BlockHashes): number {
    if (hashes.count === 0 || endpoint >= this.blocks.endpointsMax) return 0;
    const clock = this.blocks.nextClock(endpoint);
    this.#holders.tick();
    let recent = 0;
    for (let block = 0; block < hashes.count; block++) {
      const high = hashes.high[block]!;
      const low = hashes.low[block]!;
      const age = this.blocks.touch(endpoint, high, low, clock);
      if (age < recentRequests && recent === block) recent++;
      this.#holders.add(high, low, endpoint);
    }
    return recent;
  }

  #holds(endpoint: number, hashes: BlockHashes, block: number): boolean {
    return this.blocks.holds(endpoint, hashes.high[block]!, hashes.low[block]!);
  }

  #isKnown(hashes: BlockHashes, block: number): boolean {
    return this.#holders.knows(hashes.high[block]!, hashes.low[block]!);
  }
}

function blockWords(shape: PrefixIndexShape): number {
  return EndpointBlocks.words(shape.endpointsMax, shape.tokensPerEndpointMax, shape.blockTokens);
}
