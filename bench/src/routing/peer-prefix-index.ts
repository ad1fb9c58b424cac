/**
 * The prefix index of a peer replica: what it sent itself, per pod, exactly least recently used,
 * sized to the pod's KV cache. Blocks of 64 tokens.
 */
import { engineBlockTokens } from './request.ts';

const blockTokens = 64;
const grain = blockTokens / engineBlockTokens;

export class PeerPrefixIndex {
  /** In order of use: a map keeps the order of insertion. */
  readonly #blocks: Map<number, true>[];
  readonly #blocksMax: number;

  constructor(pods: number, kvCapacityTokens: number) {
    this.#blocks = Array.from({ length: pods }, () => new Map());
    this.#blocksMax = Math.floor(kvCapacityTokens / blockTokens);
  }

  /** Share of the prompt's blocks that the pod has from its beginning on, 0..1. */
  matchedRatio(pod: number, engineBlocks: ArrayLike<number>): number {
    const count = Math.floor(engineBlocks.length / grain);
    const known = this.#blocks[pod]!;
    let matched = 0;
    while (matched < count && known.has(engineBlocks[matched * grain + grain - 1]!)) matched++;
    return count === 0 ? 0 : matched / count;
  }

  record(pod: number, engineBlocks: ArrayLike<number>): void {
    const known = this.#blocks[pod]!;
    // From the end, so that the beginning of a prompt is its most recently used part.
    for (let at = Math.floor(engineBlocks.length / grain) * grain - 1; at >= 0; at -= grain) {
      known.delete(engineBlocks[at]!);
      known.set(engineBlocks[at]!, true);
    }
    for (const oldest of known.keys()) {
      if (known.size <= this.#blocksMax) break;
      known.delete(oldest);
    }
  }
}
