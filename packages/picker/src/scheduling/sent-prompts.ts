/**
 * What the latest picks of this worker entered into the prefix history, so that it can be taken out
 * again when a request turns out never to have come to an engine.
 *
 * A ring of block hashes: the newest prompts overwrite the oldest, and what is overwritten can no
 * longer be withdrawn. A gateway refuses within milliseconds what it refuses at all, so a ring of a
 * few hundred of the longest prompts, or of 16,000 ordinary ones, is enough. Cost: a copy of the
 * blocks that were new at the endpoint, 8 B each; 2 MB per worker, and 20 B per ticket.
 */
import type { BlockHashes } from './prefix/block-hash.ts';
import type { PrefixIndex } from './prefix/prefix-index.ts';
import { slotsMax } from './tickets.ts';

const ringBlocks = 262_144;

export class SentPrompts {
  readonly #high = new Int32Array(ringBlocks);
  readonly #low = new Int32Array(ringBlocks);
  /** Blocks ever written; the ring holds the last of them. */
  #written = 0;
  /** Where each ticket's blocks begin, how many there are, and at which clock they were entered. */
  #starts = new Float64Array(256);
  #counts = new Int32Array(256);
  #clocks = new Int32Array(256);

  /** Remembers the blocks of `hashes` from `from` on, as entered at the endpoint's `clock`. */
  remember(ticket: number, hashes: BlockHashes, from: number, clock: number): void {
    if (ticket < 0) return;
    const slot = ticket % slotsMax;
    if (slot >= this.#counts.length) this.#grow(slot);
    this.#starts[slot] = this.#written;
    this.#counts[slot] = Math.max(0, hashes.count - from);
    this.#clocks[slot] = clock;
    for (let block = from; block < hashes.count; block++) {
      const at = this.#written++ % ringBlocks;
      this.#high[at] = hashes.high[block]!;
      this.#low[at] = hashes.low[block]!;
    }
  }

  /** Takes a live ticket's blocks out of the index again, but for those that were used since. */
  withdraw(ticket: number, endpoint: number, index: PrefixIndex): void {
    const slot = ticket % slotsMax;
    if (slot >= this.#counts.length) return;
    const start = this.#starts[slot]!;
    const count = this.#counts[slot]!;
    this.#counts[slot] = 0;
    if (this.#written - start > ringBlocks) return;
    for (let block = 0; block < count; block++) {
      const at = (start + block) % ringBlocks;
      index.blocks.forget(endpoint, this.#high[at]!, this.#low[at]!, this.#clocks[slot]!);
    }
  }

  #grow(slot: number): void {
    const size = Math.min(slotsMax, 2 ** Math.ceil(Math.log2(slot + 1)));
    const starts = new Float64Array(size);
    starts.set(this.#starts);
    this.#starts = starts;
    const counts = new Int32Array(size);
    counts.set(this.#counts);
    this.#counts = counts;
    const clocks = new Int32Array(size);
    clocks.set(this.#clocks);
    this.#clocks = clocks;
  }
}
