/**
 * Who left the view, in the order of leaving: what watchers are told as `gone`.
 *
 * ```
 *   number   0 … oldest … … … … … … … … count-1 | count
 *            forgotten |  kept, told to those whose place lies before it
 * ```
 *
 * One ring for all watchers: each remembers only the number up to which it was told, so one that
 * lags costs a number, and a newcomer (a picker that comes from another replica) is told of the last
 * {@link tellNewcomersMs} although it was not there. The records carry the order of the withdrawal
 * itself, so a watcher that knows something newer takes no notice.
 *
 * Bounded by `max`; a watcher that misses more than that has the rest expire. 44 bytes each, used
 * by the system only where written.
 */
import { encodeGone } from '@leadsman/wire';

/** As long as notes about endpoints that left are kept (ingest/tombstones.ts). */
export const tellNewcomersMs = 60_000;

const keyWords = 4;

export class Departures {
  readonly #max: number;
  /** Pod keys, {@link keyWords} each. */
  readonly words: Int32Array;
  readonly #keys: Uint8Array;
  readonly #ports: Int32Array;
  readonly #epochs: Float64Array;
  readonly #seqs: Float64Array;
  readonly #leftAtMs: Float64Array;
  #count = 0;

  constructor(max: number) {
    this.#max = max;
    this.words = new Int32Array(max * keyWords);
    this.#keys = new Uint8Array(this.words.buffer);
    this.#ports = new Int32Array(max);
    this.#epochs = new Float64Array(max);
    this.#seqs = new Float64Array(max);
    this.#leftAtMs = new Float64Array(max);
  }

  /** Departures noted so far: the number of the next one. */
  get count(): number {
    return this.#count;
  }

  /** The lowest number that is still kept; {@link count} when none is. */
  get oldest(): number {
    return Math.max(0, this.#count - this.#max);
  }

  /** Notes one; the pod key lies at `words[key…key+3]`. */
  add(
    words: Int32Array,
    key: number,
    port: number,
    epoch: number,
    seq: number,
    nowMs: number,
  ): void {
    const at = this.#count % this.#max;
    for (let i = 0; i < keyWords; i++) this.words[at * keyWords + i] = words[key + i]!;
    this.#ports[at] = port;
    this.#epochs[at] = epoch;
    this.#seqs[at] = seq;
    this.#leftAtMs[at] = nowMs;
    this.#count++;
  }

  /** The number of the first one that left at most `ageMs` ago. */
  firstSince(nowMs: number, ageMs: number): number {
    let number = this.oldest;
    while (number < this.#count && nowMs - this.#leftAtMs[number % this.#max]! > ageMs) number++;
    return number;
  }

  /** The `gone` record of a kept number. */
  record(number: number): Uint8Array {
    const at = number % this.#max;
    const key = at * keyWords * 4;
    return encodeGone({
      podKey: this.#keys.subarray(key, key + keyWords * 4),
      port: this.#ports[at]!,
      epoch: this.#epochs[at]!,
      seq: this.#seqs[at]!,
    });
  }

  /** Where in {@link words} the pod key of a kept number begins. */
  keyAt(number: number): number {
    return (number % this.#max) * keyWords;
  }

  port(number: number): number {
    return this.#ports[number % this.#max]!;
  }
}
