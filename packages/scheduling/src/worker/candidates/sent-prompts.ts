/**
 * What the latest picks of this worker entered into the prefix history, so that it can be taken out
 * again when a request turns out never to have come to an engine.
 *
 * A ring of block hashes: the newest prompts overwrite the oldest, and what is overwritten can no
 * longer be withdrawn. A gateway refuses within milliseconds what it refuses at all, so a ring of a
 * few hundred of the longest prompts, or of 16,000 ordinary ones, is enough. A request with the same
 * text that came between the pick and its withdrawal loses its entry with it, until the text is sent
 * once more: the index knows the time of use no better.
 *
 * Cost: a copy of the blocks that were new at the endpoint, 8 B each; 2 MB per worker, and 28 B per
 * ticket.
 */
import type { BlockHashes } from '../../prefix/block-hash.ts';
import type { PrefixIndex } from '../../prefix/prefix-index.ts';
import { grown, slotsMax } from './tickets.ts';

const ringBlocks = 262_144;

export class SentPrompts {
  readonly #high = new Int32Array(ringBlocks);
  readonly #low = new Int32Array(ringBlocks);
  /** Blocks ever written; the ring holds the last of them. */
  #written = 0;
  /** By a ticket's slot: whose blocks they are, where they begin and end, where they were entered. */
  #tickets = new Float64Array(256).fill(-1);
  #starts = new Float64Array(256);
  #counts = new Int32Array(256);
  #endpoints = new Int32Array(256);
  #clocks = new Int32Array(256);

  /** Remembers the blocks of `hashes` from `from` on, which were entered last at the endpoint. */
  remember(
    ticket: number,
    hashes: BlockHashes,
    from: number,
    endpoint: number,
    index: PrefixIndex,
  ): void {
    if (ticket < 0) return;
    const slot = ticket % slotsMax;
    if (slot >= this.#counts.length) this.#grow(slot);
    this.#tickets[slot] = ticket;
    this.#endpoints[slot] = endpoint;
    this.#clocks[slot] = index.blocks.clockOf(endpoint);
    this.#starts[slot] = this.#written;
    this.#counts[slot] = Math.max(0, hashes.count - from);
    for (let block = from; block < hashes.count; block++) {
      const at = this.#written++ % ringBlocks;
      this.#high[at] = hashes.high[block]!;
      this.#low[at] = hashes.low[block]!;
    }
  }

  /** Takes a ticket's blocks out of the index again, but for those used at a later time. */
  withdraw(ticket: number, index: PrefixIndex): void {
    const slot = ticket % slotsMax;
    if (this.#tickets[slot] !== ticket) return;
    this.#tickets[slot] = -1;
    const start = this.#starts[slot]!;
    const count = this.#counts[slot]!;
    const endpoint = this.#endpoints[slot]!;
    if (this.#written - start > ringBlocks) return;
    for (let block = 0; block < count; block++) {
      const at = (start + block) % ringBlocks;
      index.blocks.forget(endpoint, this.#high[at]!, this.#low[at]!, this.#clocks[slot]!);
    }
  }

  #grow(slot: number): void {
    const size = Math.min(slotsMax, 2 ** Math.ceil(Math.log2(slot + 1)));
    const tickets = new Float64Array(size).fill(-1);
    tickets.set(this.#tickets);
    this.#tickets = tickets;
    const starts = new Float64Array(size);
    starts.set(this.#starts);
    this.#starts = starts;
    this.#counts = grown(this.#counts, size);
    this.#endpoints = grown(this.#endpoints, size);
    this.#clocks = grown(this.#clocks, size);
  }
}
