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
 * Bounded by `max`; a watcher that misses more than that has the rest expire. 48 bytes each, used
 * by the system only where written.
 */
import { goneBytes } from '@leadsman/wire';

/** As long as notes about endpoints that left are kept (ingest/tombstones.ts). */
export const tellNewcomersMs = 60_000;

const recordWords = goneBytes / 4;
const epochByte = 24;
const seqByte = 32;

export class Departures {
  readonly #max: number;
  /** Records as on the wire, one behind the other, and the same bytes as words. */
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly words: Int32Array;
  readonly #leftAtMs: Float64Array;
  #count = 0;

  constructor(max: number) {
    const buffer = new ArrayBuffer(max * goneBytes);
    this.#max = max;
    this.#bytes = new Uint8Array(buffer);
    this.#view = new DataView(buffer);
    this.words = new Int32Array(buffer);
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
    for (let i = 0; i < 4; i++) this.words[at * recordWords + i] = words[key + i]!;
    this.words[at * recordWords + 4] = port;
    this.#view.setFloat64(at * goneBytes + epochByte, epoch, true);
    this.#view.setFloat64(at * goneBytes + seqByte, seq, true);
    this.#leftAtMs[at] = nowMs;
    this.#count++;
  }

  /** The number of the first one that left at most `ageMs` ago. */
  firstSince(nowMs: number, ageMs: number): number {
    let number = this.oldest;
    while (number < this.#count && nowMs - this.#leftAtMs[number % this.#max]! > ageMs) number++;
    return number;
  }

  /** The `gone` record of a kept number, valid until the next {@link add}. */
  record(number: number): Uint8Array {
    const from = (number % this.#max) * goneBytes;
    return this.#bytes.subarray(from, from + goneBytes);
  }

  /** Where in {@link words} the pod key of a kept number begins. */
  keyAt(number: number): number {
    return (number % this.#max) * recordWords;
  }

  port(number: number): number {
    return this.words[this.keyAt(number) + 4]! & 0xffff;
  }
}
