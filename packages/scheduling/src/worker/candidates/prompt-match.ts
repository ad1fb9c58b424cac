/**
 * The prompt of the current pick against the prefix index. Hashing waits until a part asks for
 * it: strategies that ignore prefixes pay nothing, and those that enter history pay once.
 */

import { BlockHashes } from '../../prefix/block-hash.ts';
import { holdersMax } from '../../prefix/block-holders.ts';
import { hashText } from '../../prefix/hash-text.ts';
import type { PrefixIndex } from '../../prefix/prefix-index.ts';
import type { RequestFacts } from '../../scheduler.ts';

export class PromptMatch {
  readonly #own = new BlockHashes();
  readonly #index: PrefixIndex;
  readonly #holders = new Int32Array(holdersMax);
  #request: RequestFacts | undefined;
  #blocks = this.#own;
  #isHashed = false;
  #pool = '';
  #model = '';
  #seed = hashText('\n');

  constructor(index: PrefixIndex) {
    this.#index = index;
  }

  /** Begins a pick. The request is used until the next call. */
  begin(request: RequestFacts): void {
    this.#request = request;
    this.#isHashed = false;
  }

  /** The prompt's block hashes; none when the prompt is unknown or short. */
  blocks(): BlockHashes {
    const request = this.#request;
    if (this.#isHashed || request === undefined) return this.#blocks;
    this.#isHashed = true;
    this.#blocks = request.blocks ?? this.#own;
    if (request.blocks !== undefined) return this.#blocks;
    if (request.prompt === undefined) this.#own.clear();
    else this.#own.set(request.prompt, this.#seedOf(request));
    return this.#own;
  }

  /** Prompt tokens that the endpoint with this in-flight index probably holds. */
  matchedTokens(index: number): number {
    const hashes = this.blocks();
    if (hashes.count === 0) return 0;
    return this.#tokens(this.#index.match(index, hashes), hashes);
  }

  /** Share of the prompt's blocks that the endpoint holds, 0..1; NaN for a prompt without blocks. */
  matchedRatio(index: number): number {
    const hashes = this.blocks();
    return hashes.count === 0 ? Number.NaN : this.#index.match(index, hashes) / hashes.count;
  }

  /**
   * Writes the in-flight indexes of the endpoints that used the longest known part of the prompt
   * last, at most `holdersMax`; returns their number. Some may not be members of the pool.
   */
  latestHolders(into: Int32Array): number {
    const count = this.#index.latestHolders(this.blocks(), this.#holders);
    for (let i = 0; i < count; i++) into[i] = this.#holders[i]!;
    return count;
  }

  #tokens(blocks: number, hashes: BlockHashes): number {
    const tokens = blocks * hashes.blockTokens;
    const { promptTokens } = this.#request!;
    return promptTokens > 0 ? Math.min(tokens, promptTokens) : tokens;
  }

  /** Adapters and models share no cache; the seed keeps their blocks apart. */
  #seedOf(request: RequestFacts): number {
    if (request.poolName !== this.#pool || request.model !== this.#model) {
      this.#pool = request.poolName;
      this.#model = request.model;
      this.#seed = hashText(`${request.poolName}\n${request.model}`);
    }
    return this.#seed;
  }
}
