/**
 * Body bytes of one request that wait: for the pick, or for room in the stream afterwards.
 *
 * What arrives is a view into a read buffer of up to 64 KB that other streams share and that lives
 * as long as any view of it. So small chunks are copied together into blocks, lest a body that
 * trickles in holds a thousand times its size; what is kept as it came is at least a quarter of the
 * buffer it lies in. Everything is charged to the worker's budget from `add` to `take` or `clear`.
 *
 *   pieces  │ view │ block │ view │ block being filled │
 *             ^ next                         ^ filled
 */
import type { ByteBudget } from '../byte-budget.ts';

/** A chunk from this size on may stay where it is; also the size that blocks grow to. */
const blockBytesMax = 16_384;
const blockBytesMin = 512;
/** A view of less than this part of its buffer is copied. */
const viewShareMin = 1 / 4;

export class HeldBody {
  readonly #budget: ByteBudget;
  #pieces: Uint8Array[] = [];
  /** Pieces before this one were taken. */
  #next = 0;
  /** The last piece, while there is room in it behind `#filled`. */
  #block: Uint8Array | undefined;
  #filled = 0;
  #bytes = 0;
  #chargedBytes = 0;

  constructor(budget: ByteBudget) {
    this.#budget = budget;
  }

  get isEmpty(): boolean {
    return this.#next === this.#pieces.length;
  }

  /** Body bytes held. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Keeps a chunk behind those that are held, and returns its bytes where they lie from now on.
   * `isLast`: no other follows, so copying would gain nothing.
   */
  add(chunk: Uint8Array, isLast: boolean): Uint8Array {
    const { length } = chunk;
    if (length === 0) return chunk;
    this.#bytes += length;
    if (isLast || (length >= blockBytesMax / 4 && isWorthItsBuffer(chunk))) {
      this.#closeBlock();
      this.#pieces.push(chunk);
      this.#charge(length);
      return chunk;
    }
    if (this.#block === undefined || this.#block.length - this.#filled < length) {
      this.#openBlock(length);
    }
    const block = this.#block!;
    const from = this.#filled;
    block.set(chunk, from);
    this.#filled = from + length;
    return block.subarray(from, this.#filled);
  }

  /** Gives the oldest bytes away, a piece at a time; `undefined` when none are left. */
  take(): Uint8Array | undefined {
    if (this.isEmpty) return undefined;
    if (this.#next === this.#pieces.length - 1) this.#closeBlock();
    const piece = this.#pieces[this.#next]!;
    this.#pieces[this.#next++] = nothing;
    this.#bytes -= piece.length;
    this.#charge(-piece.length);
    if (this.isEmpty) this.clear();
    return piece;
  }

  /** Lets go of everything. */
  clear(): void {
    this.#charge(-this.#chargedBytes);
    this.#pieces = [];
    this.#next = 0;
    this.#block = undefined;
    this.#filled = 0;
    this.#bytes = 0;
  }

  #openBlock(length: number): void {
    const before = this.#block?.length ?? blockBytesMin / 2;
    this.#closeBlock();
    const size = Math.max(length, Math.min(2 * before, blockBytesMax));
    this.#block = new Uint8Array(size);
    this.#filled = 0;
    this.#pieces.push(this.#block);
    this.#charge(size);
  }

  /** The last piece ends where it is filled. What lies behind stays in memory, hence charged. */
  #closeBlock(): void {
    if (this.#block === undefined) return;
    this.#pieces[this.#pieces.length - 1] = this.#block.subarray(0, this.#filled);
    this.#block = undefined;
  }

  #charge(bytes: number): void {
    this.#budget.charge(bytes);
    this.#chargedBytes += bytes;
  }
}

const nothing = new Uint8Array(0);

function isWorthItsBuffer(chunk: Uint8Array): boolean {
  return chunk.length >= chunk.buffer.byteLength * viewShareMin;
}
