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
  #identity = '';
  #seed = hashText('\n\n');
  #popularBlocks = 0;

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
    return this.#bounded(hashes.tokensOf(this.#index.match(index, hashes)));
  }

  /** Share of the prompt's whole blocks that the endpoint holds, 0..1; NaN when there are none. */
  matchedRatio(index: number): number {
    const hashes = this.blocks();
    if (hashes.count === 0) return Number.NaN;
    return hashes.tokensOf(this.#index.match(index, hashes)) / hashes.tokensOf(hashes.count);
  }

  /** Tokens from the prompt's start that were used `uses` times lately (decayed), or more. */
  popularTokens(uses: number): number {
    const hashes = this.blocks();
    const blocks = this.#index.popularBlocks(hashes, uses);
    this.#popularBlocks = blocks;
    return this.#bounded(hashes.tokensOf(blocks));
  }

  /** Uses that a text of every prompt comes to. */
  usesOfAll(): number {
    return this.#index.usesOfAll();
  }

  /** Decayed count of uses of the text that {@link popularTokens} found last, 0 for none. */
  popularUses(): number {
    const blocks = this.#popularBlocks;
    return blocks === 0 ? 0 : this.#index.usesOf(this.blocks(), blocks);
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

  #bounded(tokens: number): number {
    const { promptTokens } = this.#request!;
    return promptTokens > 0 ? Math.min(tokens, promptTokens) : tokens;
  }

  /** Models, adapters and salts share no cache; the seed keeps their blocks apart. */
  #seedOf(request: RequestFacts): number {
    const identity = request.cacheIdentity;
    if (
      request.poolName !== this.#pool ||
      request.model !== this.#model ||
      identity !== this.#identity
    ) {
      this.#pool = request.poolName;
      this.#model = request.model;
      this.#identity = identity;
      this.#seed = hashText(`${request.poolName}\n${request.model}\n${identity}`);
    }
    return this.#seed;
  }
}
