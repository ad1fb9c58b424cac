/**
 * Cuts the bytes of a gRPC stream into messages.
 *
 *   flag (1 byte: 1 = compressed) │ length (4 bytes, big-endian) │ message
 *
 * Messages and DATA frames do not line up: a frame may hold several messages, a message may span
 * many frames, and the five bytes in front may be cut anywhere. A message within one frame is
 * delivered as a view. One across frames is gathered in a buffer that doubles as bytes arrive, so
 * memory follows what has come, never what a header claims, and a sender of tiny frames gains
 * nothing. Gathered bytes are charged to the worker's budget until the message is delivered.
 */
import type { ByteBudget } from '../byte-budget.ts';

export interface DeframerListener {
  message(bytes: Uint8Array): void;
  /** Above the limit or the budget: the bytes of this message are thrown away as they arrive. */
  oversized(bytes: number): void;
  /** The compressed flag was set; nothing more will be delivered. */
  compressed(): void;
}

const headerBytes = 5;

/** First size of the gathering buffer: one DATA frame at HTTP/2's default frame size. */
const gatherBytesMin = 16_384;

/** A message up to this size is a chunk on its way; larger ones are bodies that wait. */
const transitBytesMax = 262_144;

const none = Buffer.alloc(0);

export class Deframer {
  readonly #listener: DeframerListener;
  readonly #messageBytesMax: number;
  readonly #budget: ByteBudget;
  readonly #header = new Uint8Array(headerBytes);
  #headerHave = 0;
  #need = 0;
  #gathered: Buffer = none;
  #have = 0;
  #discard = 0;
  #stopped = false;

  constructor(listener: DeframerListener, messageBytesMax: number, budget: ByteBudget) {
    this.#listener = listener;
    this.#messageBytesMax = messageBytesMax;
    this.#budget = budget;
  }

  /** Bytes of a message or its header that have come while the rest has not. */
  get partialBytes(): number {
    return this.#headerHave + this.#have;
  }

  /** Delivers nothing more and lets go of everything held. May be called repeatedly. */
  stop(): void {
    this.#stopped = true;
    this.#letGo();
  }

  feed(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length && !this.#stopped) {
      if (this.#discard > 0) {
        const step = Math.min(this.#discard, chunk.length - at);
        this.#discard -= step;
        at += step;
      } else if (this.#headerHave < headerBytes) {
        at = this.#feedHeader(chunk, at);
      } else {
        at = this.#feedMessage(chunk, at);
      }
    }
  }

  #feedHeader(chunk: Uint8Array, from: number): number {
    let at = from;
    while (at < chunk.length && this.#headerHave < headerBytes) {
      this.#header[this.#headerHave++] = chunk[at++]!;
    }
    if (this.#headerHave < headerBytes) return at;
    const [flag, b3, b2, b1, b0] = this.#header as unknown as [
      number,
      number,
      number,
      number,
      number,
    ];
    this.#need = ((b3 << 24) | (b2 << 16) | (b1 << 8) | b0) >>> 0;
    if (flag !== 0) {
      this.stop();
      this.#listener.compressed();
    } else if (this.#need > this.#messageBytesMax) {
      this.#throwAway(this.#need);
    } else if (this.#need === 0) {
      this.#headerHave = 0;
      this.#listener.message(none);
    }
    return at;
  }

  #feedMessage(chunk: Uint8Array, at: number): number {
    const to = Math.min(chunk.length, at + this.#need - this.#have);
    if (this.#have === 0 && to - at === this.#need) {
      this.#headerHave = 0;
      this.#listener.message(at === 0 && to === chunk.length ? chunk : chunk.subarray(at, to));
      return to;
    }
    if (!this.#reserve(this.#have + to - at)) {
      this.#throwAway(this.#need - this.#have);
      return at;
    }
    this.#gathered.set(chunk.subarray(at, to), this.#have);
    this.#have += to - at;
    if (this.#have === this.#need) {
      const message = this.#gathered.subarray(0, this.#need);
      this.#letGo();
      this.#headerHave = 0;
      this.#listener.message(message);
    }
    return to;
  }

  #reserve(bytes: number): boolean {
    const capacity = this.#gathered.length;
    if (bytes <= capacity) return true;
    const wanted = Math.min(this.#need, Math.max(gatherBytesMin, 2 * capacity, bytes));
    const more = wanted - capacity;
    const small = this.#need <= transitBytesMax;
    if (!(small ? this.#budget.takeInTransit(more) : this.#budget.take(more))) return false;
    const larger = Buffer.allocUnsafeSlow(wanted);
    larger.set(this.#gathered.subarray(0, this.#have));
    this.#gathered = larger;
    return true;
  }

  #throwAway(bytes: number): void {
    const claimed = this.#need;
    this.#discard = bytes;
    this.#headerHave = 0;
    this.#letGo();
    this.#listener.oversized(claimed);
  }

  #letGo(): void {
    this.#budget.give(this.#gathered.length);
    this.#gathered = none;
    this.#have = 0;
  }
}
