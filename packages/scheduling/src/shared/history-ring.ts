/**
 * Routing history on its way from a worker to the main thread, which tells the other replicas.
 *
 * A ring of Int32 words in shared memory with one writer (the worker) and one reader (main):
 *
 * ```
 * [0] words written, ever   [1] words read, ever   [2] records dropped   [3] 1 once somebody reads
 * [4…] records: endpoint, blocks, blocks × { high, low }
 * ```
 *
 * The writer stores a whole record and then moves [0] (Atomics), so the reader never sees half of
 * one. When there is no room the record is dropped and counted: the other replicas then know less
 * of one endpoint's cache, nothing more. Both counters wrap at 2³²; the ring's size divides that.
 */
import { type AllocateShared, allocateInProcess } from '@leadsman/service/processes/shared-memory';
import type { BlockHashes } from '../prefix/block-hash.ts';

const headerWords = 4;
const written = 0;
const read = 1;
const dropped = 2;
const isRead = 3;
const recordHeaderWords = 2;
/** 256 KB: a tenth of a second of 4 KB prompts at 20,000 requests/s. */
const ringWords = 65_536;
/** A prompt's blocks travel in records of at most this many, so one prompt cannot fill the ring. */
const blocksPerRecordMax = 512;

export function createHistoryBuffer(allocate: AllocateShared = allocateInProcess): ArrayBufferLike {
  return allocate((headerWords + ringWords) * 4);
}

export class HistoryWriter {
  readonly #words: Int32Array;

  constructor(buffer: ArrayBufferLike) {
    this.#words = new Int32Array(buffer);
  }

  /** Writes the prompt's blocks from the `from`-th on; nothing when there are none. */
  write(endpoint: number, hashes: BlockHashes, from: number): void {
    // A picker without other replicas has nobody to tell.
    if (this.#words[isRead] === 0) return;
    for (let first = from; first < hashes.count; first += blocksPerRecordMax) {
      this.#record(endpoint, hashes, first, Math.min(hashes.count, first + blocksPerRecordMax));
    }
  }

  #record(endpoint: number, hashes: BlockHashes, first: number, end: number): void {
    const words = this.#words;
    const size = recordHeaderWords + 2 * (end - first);
    const begin = words[written]!;
    const used = (begin - Atomics.load(words, read)) >>> 0;
    if (used + size > ringWords) {
      Atomics.add(words, dropped, 1);
      return;
    }
    let at = begin >>> 0;
    words[headerWords + (at++ % ringWords)] = endpoint;
    words[headerWords + (at++ % ringWords)] = end - first;
    for (let block = first; block < end; block++) {
      words[headerWords + (at++ % ringWords)] = hashes.high[block]!;
      words[headerWords + (at++ % ringWords)] = hashes.low[block]!;
    }
    Atomics.store(words, written, (begin + size) | 0);
  }
}

/** Receives one record; the scratch blocks are valid during the call only. */
export type HistoryListener = (endpoint: number) => void;

/** Where a record's blocks are put. */
export type HistoryScratch = Pick<BlockHashes, 'high' | 'low' | 'count'>;

export class HistoryReader {
  readonly #words: Int32Array;

  constructor(buffer: ArrayBufferLike) {
    this.#words = new Int32Array(buffer);
    this.#words[isRead] = 1;
  }

  /** Records that found no room, ever. */
  get dropped(): number {
    return Atomics.load(this.#words, dropped) >>> 0;
  }

  /** Hands over all complete records, the blocks of each in `scratch`. */
  drain(scratch: HistoryScratch, listener: HistoryListener): void {
    const words = this.#words;
    const end = Atomics.load(words, written);
    let at = words[read]! >>> 0;
    let left = (end - at) >>> 0;
    while (left >= recordHeaderWords) {
      const endpoint = words[headerWords + (at % ringWords)]!;
      const blocks = words[headerWords + ((at + 1) % ringWords)]!;
      at += recordHeaderWords;
      for (let block = 0; block < blocks; block++) {
        scratch.high[block] = words[headerWords + (at++ % ringWords)]!;
        scratch.low[block] = words[headerWords + (at++ % ringWords)]!;
      }
      scratch.count = blocks;
      left -= recordHeaderWords + 2 * blocks;
      listener(endpoint);
    }
    Atomics.store(words, read, end);
  }
}
