/**
 * The prefix index of a peer replica: what it sent itself, per pod, exactly least recently used,
 * sized to the pod's KV cache.
 */

export class PeerPrefixIndex {
  /** In order of use: a map keeps the order of insertion. */
  readonly #blocks: Map<number, true>[];
  readonly #blocksMax: number;

  constructor(pods: number, kvCapacityTokens: number, blockTokens: number) {
    this.#blocks = Array.from({ length: pods }, () => new Map());
    this.#blocksMax = Math.floor(kvCapacityTokens / blockTokens);
  }

  /** Share of the prompt's blocks that the pod has from its beginning on, 0..1. */
  matchedRatio(pod: number, blocks: ArrayLike<number>): number {
    return blocks.length === 0 ? 0 : this.matchedBlocks(pod, blocks) / blocks.length;
  }

  matchedBlocks(pod: number, blocks: ArrayLike<number>): number {
    const known = this.#blocks[pod]!;
    let matched = 0;
    while (matched < blocks.length && known.has(blocks[matched]!)) matched++;
    return matched;
  }

  record(pod: number, blocks: ArrayLike<number>): void {
    const known = this.#blocks[pod]!;
    // From the end, so that the beginning of a prompt is its most recently used part.
    for (let at = blocks.length - 1; at >= 0; at--) {
      known.delete(blocks[at]!);
      known.set(blocks[at]!, true);
    }
    for (const oldest of known.keys()) {
      if (known.size <= this.#blocksMax) break;
      known.delete(oldest);
    }
  }
}
