/**
 * The latest prompts that this worker sent and where, so that one can be taken out of the prefix
 * history again when its request turns out never to have come to an engine.
 *
 * A block goes only if the prompt was the first to bring it to its endpoint and none sent there
 * since has it as well; otherwise the latest of those answers for it from then on. What other
 * workers and replicas sent is not looked at: at worst a hit is missed.
 *
 * Two rings, of prompts and of their block hashes: the newest overwrite the oldest, and what is
 * overwritten stays in the history. Gateways refuse within milliseconds what they refuse at all, so
 * some 160 prompts of 100k tokens, or 16,000 ordinary ones, are enough. Cost: a copy of the hashes
 * per pick, 8 B per block; a withdrawal looks at the prompts sent since. 2.5 MB per worker, and 4 B
 * per ticket.
 */
import type { BlockHashes } from '../../prefix/block-hash.ts';
import type { PrefixIndex } from '../../prefix/prefix-index.ts';
import { grown, slotsMax } from './tickets.ts';

const ringBlocks = 262_144;
const ringPrompts = 16_384;

export class SentPrompts {
  readonly #high = new Int32Array(ringBlocks);
  readonly #low = new Int32Array(ringBlocks);
  /** Blocks and prompts ever written; the rings hold the last of them. */
  #blocksWritten = 0;
  #promptsWritten = 0;
  readonly #tickets = new Float64Array(ringPrompts).fill(-1);
  /** Where a prompt's blocks begin, how many there are, and from which on it brought them. */
  readonly #starts = new Float64Array(ringPrompts);
  readonly #counts = new Int32Array(ringPrompts);
  readonly #newFrom = new Int32Array(ringPrompts);
  readonly #endpoints = new Int32Array(ringPrompts);
  /** The endpoint's epoch when the prompt was entered. */
  readonly #clocks = new Int32Array(ringPrompts);
  /** A ticket's place in the ring of prompts, by its slot. */
  #places = new Int32Array(256);

  /** Remembers a prompt just entered at the endpoint, which had held `held` blocks of it before. */
  remember(
    ticket: number,
    hashes: BlockHashes,
    held: number,
    endpoint: number,
    index: PrefixIndex,
  ): void {
    if (ticket < 0 || hashes.count === 0 || hashes.count > ringBlocks) return;
    const slot = ticket % slotsMax;
    if (slot >= this.#places.length) this.#grow(slot);
    const place = this.#promptsWritten++ % ringPrompts;
    this.#places[slot] = place;
    this.#tickets[place] = ticket;
    this.#endpoints[place] = endpoint;
    this.#clocks[place] = index.blocks.clockOf(endpoint);
    this.#starts[place] = this.#blocksWritten;
    this.#counts[place] = hashes.count;
    this.#newFrom[place] = held;
    for (let block = 0; block < hashes.count; block++) {
      const at = this.#blocksWritten++ % ringBlocks;
      this.#high[at] = hashes.high[block]!;
      this.#low[at] = hashes.low[block]!;
    }
  }

  /** Takes a ticket's prompt out of the index again, as far as it alone stands for it. */
  withdraw(ticket: number, index: PrefixIndex): void {
    const slot = ticket % slotsMax;
    const place = slot < this.#places.length ? this.#places[slot]! : 0;
    if (this.#tickets[place] !== ticket) return;
    this.#tickets[place] = -1;
    if (this.#isOverwritten(place)) return;
    const from = this.#newFrom[place]!;
    const kept = this.#handOver(place, from);
    const endpoint = this.#endpoints[place]!;
    for (let block = kept; block < this.#counts[place]!; block++) {
      const at = (this.#starts[place]! + block) % ringBlocks;
      index.blocks.forget(endpoint, this.#high[at]!, this.#low[at]!, this.#clocks[place]!);
    }
  }

  /**
   * Finds the prompt sent to the same endpoint since that shares most of the blocks from `from` on,
   * and lets it answer for them. Returns the first block that is left.
   */
  #handOver(place: number, from: number): number {
    const newest = this.#promptsWritten % ringPrompts;
    let kept = from;
    let heir = -1;
    for (
      let other = (place + 1) % ringPrompts;
      other !== newest;
      other = (other + 1) % ringPrompts
    ) {
      if (this.#endpoints[other] !== this.#endpoints[place] || this.#tickets[other]! < 0) continue;
      if (this.#isOverwritten(other)) continue;
      const shared = this.#sharedFrom(place, other, kept);
      if (shared <= kept) continue;
      kept = shared;
      heir = other;
    }
    if (heir >= 0) this.#newFrom[heir] = Math.min(this.#newFrom[heir]!, from);
    return kept;
  }

  /** Up to which block two prompts are equal, if they are beyond `from`. Hashes are of chains. */
  #sharedFrom(one: number, other: number, from: number): number {
    const end = Math.min(this.#counts[one]!, this.#counts[other]!);
    let block = from;
    while (block < end && this.#isSameBlock(one, other, block)) block++;
    return block;
  }

  #isSameBlock(one: number, other: number, block: number): boolean {
    const a = (this.#starts[one]! + block) % ringBlocks;
    const b = (this.#starts[other]! + block) % ringBlocks;
    return this.#high[a] === this.#high[b] && this.#low[a] === this.#low[b];
  }

  #isOverwritten(place: number): boolean {
    return this.#blocksWritten - this.#starts[place]! > ringBlocks;
  }

  #grow(slot: number): void {
    this.#places = grown(this.#places, Math.min(slotsMax, 2 ** Math.ceil(Math.log2(slot + 1))));
  }
}
