/**
 * The requests in flight that streams of other workers may join, in shared memory.
 *
 * A gateway that opens two streams for one HTTP request opens the second on another connection,
 * which may belong to another worker. That worker finds here where the request went, answers the
 * same, and counts nothing: the worker that picked first holds the count, and both streams end
 * together, with their request.
 *
 * Slots of 64 bytes: i32 state (0 free, else the owner's number + 1, negative while it
 * is being written), i32 joins,
 * two i32 of the key's hash, i32 length and then the destination as ASCII. A key may lie in any of
 * eight slots from its hash on. What finds no room, or a destination that is too long (a fallback
 * list), is simply not shared.
 *
 * Entries of one key are never written by two workers in a row within a reader's few loads unless
 * a request ended and another began; the state is read again after the copy to notice that. Cost:
 * at most eight loads per lookup, one lookup per pick; text is made only for a hit.
 */

import { fnvBasis, fnvPrime } from '@leadsman/service/fnv1a';
import { type AllocateShared, allocateInProcess } from '@leadsman/service/processes/shared-memory';

const slotInts = 16;
const slotBytes = slotInts * 4;
const probesMax = 8;
const destinationBytesMax = slotBytes - 20;

/** Requests of one process that can be joined at once; more are just not shared. 1 MB. */
export const sharedRequestsMax = 16_384;

/** More filters of one pool in one chain have not been seen. */
const joinsMax = 8;

const word = { state: 0, joins: 1, high: 2, low: 3, length: 4 } as const;

export function createSharedRequestsBuffer(
  allocate: AllocateShared = allocateInProcess,
): ArrayBufferLike {
  return allocate(sharedRequestsMax * slotBytes);
}

export class SharedRequests {
  readonly #ints: Int32Array;
  readonly #bytes: Uint8Array;
  readonly #owner: number;
  #high = 0;
  #low = 0;

  /** `worker` is this worker's number from 0. */
  constructor(buffer: ArrayBufferLike, worker: number) {
    this.#ints = new Int32Array(buffer);
    this.#bytes = new Uint8Array(buffer);
    this.#owner = worker + 1;
  }

  /** Where another worker sent the request of this key; undefined when none says. */
  join(key: string): string | undefined {
    this.#hash(key);
    for (let probe = 0; probe < probesMax; probe++) {
      const at = this.#slot(probe);
      const state = Atomics.load(this.#ints, at);
      if (state <= 0 || state === this.#owner || !this.#isKeyAt(at)) continue;
      const destination = this.#destinationAt(at);
      if (Atomics.load(this.#ints, at) !== state || !this.#isKeyAt(at)) continue;
      // A constant id must not hide load.
      if (Atomics.add(this.#ints, at + word.joins, 1) >= joinsMax) return undefined;
      return destination;
    }
    return undefined;
  }

  /** Offers a request to the other workers; the slot to {@link withdraw}, -1 when not shared. */
  offer(key: string, destination: string): number {
    if (destination.length > destinationBytesMax) return -1;
    this.#hash(key);
    for (let probe = 0; probe < probesMax; probe++) {
      const at = this.#slot(probe);
      if (Atomics.compareExchange(this.#ints, at, 0, -this.#owner) !== 0) continue;
      Atomics.store(this.#ints, at + word.joins, 0);
      Atomics.store(this.#ints, at + word.high, this.#high);
      Atomics.store(this.#ints, at + word.low, this.#low);
      Atomics.store(this.#ints, at + word.length, destination.length);
      const from = (at + word.length + 1) * 4;
      for (let i = 0; i < destination.length; i++) {
        this.#bytes[from + i] = destination.charCodeAt(i);
      }
      Atomics.store(this.#ints, at, this.#owner);
      return at;
    }
    return -1;
  }

  /** The request has a response or has ended: nobody may join it any more. */
  withdraw(slot: number): void {
    if (slot >= 0) Atomics.compareExchange(this.#ints, slot, this.#owner, 0);
  }

  /**
   * Frees what the worker left when it died, also in the middle of a write; for the main process,
   * before the worker is started again.
   */
  forget(): void {
    for (let at = 0; at < this.#ints.length; at += slotInts) {
      this.withdraw(at);
      Atomics.compareExchange(this.#ints, at, -this.#owner, 0);
    }
  }

  #slot(probe: number): number {
    return ((this.#low + probe) & (sharedRequestsMax - 1)) * slotInts;
  }

  #isKeyAt(at: number): boolean {
    return (
      Atomics.load(this.#ints, at + word.high) === this.#high &&
      Atomics.load(this.#ints, at + word.low) === this.#low
    );
  }

  #destinationAt(at: number): string {
    const from = (at + word.length + 1) * 4;
    const length = Math.min(Atomics.load(this.#ints, at + word.length), destinationBytesMax);
    let text = '';
    for (let i = 0; i < length; i++) text += String.fromCharCode(this.#bytes[from + i]!);
    return text;
  }

  /** Two independent FNV-1a runs: 64 bits, so that no two of 16,384 keys meet by chance. */
  #hash(key: string): void {
    let high = fnvBasis | 0;
    let low = 0x2f0b4c47 | 0;
    for (let i = 0; i < key.length; i++) {
      const unit = key.charCodeAt(i);
      high = Math.imul(high ^ unit, fnvPrime);
      low = Math.imul(low ^ unit, 0x5bd1e995);
      low ^= low >>> 15;
    }
    this.#high = high ^ (high >>> 16);
    this.#low = low ^ (low >>> 13);
  }
}
