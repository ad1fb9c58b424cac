/**
 * The last frame number of each sender, to count what was lost, repeated or reordered on the way,
 * and which keyframes came whole: a sender whose keyframes never do is never known in full. Only
 * counted: records are ordered by themselves, so no frame is refused here.
 *
 * Bounded: senders idle for {@link senderIdleMs} leave; beyond `sendersMax` new ones go untracked.
 * Cost per frame: one index lookup, no allocation.
 */
import { KeyIndex } from '@leadsman/view/key-index';
import { type FrameReader, frameKind } from '@leadsman/wire';
import type { IngestCounters } from './counters.ts';

/** Sixty keyframes missed: the process is gone, and a new one has another id. */
const senderIdleMs = 60_000;

/** Of a keyframe some part is missing, or its first parts came before we listened. */
const broken = 0xffff;

export class SenderTable {
  readonly #counters: IngestCounters;
  readonly #sendersMax: number;
  readonly #index = new KeyIndex();
  readonly #key = new Int32Array(4);
  readonly #keyBytes = new Uint8Array(this.#key.buffer);
  readonly #keys: Int32Array;
  readonly #epochs: Float64Array;
  readonly #seqs: Float64Array;
  readonly #heardAtMs: Float64Array;
  /** Parts of the keyframe under way that came so far, in order. */
  readonly #parts: Uint16Array;
  readonly #free: number[] = [];
  #rows = 0;

  constructor(sendersMax: number, counters: IngestCounters) {
    this.#sendersMax = sendersMax;
    this.#counters = counters;
    this.#keys = new Int32Array(sendersMax * 4);
    this.#epochs = new Float64Array(sendersMax);
    this.#seqs = new Float64Array(sendersMax);
    this.#heardAtMs = new Float64Array(sendersMax);
    this.#parts = new Uint16Array(sendersMax);
  }

  get size(): number {
    return this.#index.size;
  }

  /** Takes note of a loaded frame. */
  observe(frame: FrameReader, nowMs: number): void {
    for (let i = 0; i < 16; i++) this.#keyBytes[i] = frame.bytes[frame.senderByte + i]!;
    const row = this.#index.get(this.#key, 0, 0);
    if (row < 0) {
      this.#add(frame, nowMs);
      return;
    }
    this.#heardAtMs[row] = nowMs;
    this.#part(frame, row);
    const last = this.#seqs[row]!;
    if (frame.senderEpoch !== this.#epochs[row]) {
      this.#epochs[row] = frame.senderEpoch;
      this.#seqs[row] = frame.seq;
    } else if (frame.seq > last) {
      if (frame.seq > last + 1) {
        this.#counters.frameGaps++;
        this.#counters.missingFrames += frame.seq - last - 1;
      }
      this.#seqs[row] = frame.seq;
    } else if (frame.seq === last) this.#counters.duplicateFrames++;
    else this.#counters.reorderedFrames++;
  }

  /** Forgets senders that fell silent. */
  expire(nowMs: number): void {
    for (let row = 0; row < this.#rows; row++) {
      if (nowMs - this.#heardAtMs[row]! <= senderIdleMs) continue;
      this.#index.delete(this.#keys, row * 4, 0);
      this.#free.push(row);
      this.#heardAtMs[row] = Number.POSITIVE_INFINITY;
    }
  }

  #part(frame: FrameReader, row: number): void {
    if (frame.kind !== frameKind.keyframe) return;
    const came = this.#parts[row]!;
    if (frame.part === 0) {
      if (came !== 0 && came !== broken) this.#counters.incompleteKeyframes++;
    } else if (came === broken) return;
    else if (frame.part !== came) {
      this.#counters.incompleteKeyframes++;
      this.#parts[row] = broken;
      return;
    }
    const isWhole = frame.part + 1 === frame.parts;
    if (isWhole) this.#counters.keyframes++;
    this.#parts[row] = isWhole ? 0 : frame.part + 1;
  }

  #add(frame: FrameReader, nowMs: number): void {
    const row = this.#free.pop() ?? (this.#rows < this.#sendersMax ? this.#rows++ : -1);
    if (row < 0) {
      this.#counters.untrackedFrames++;
      return;
    }
    this.#keys.set(this.#key, row * 4);
    this.#epochs[row] = frame.senderEpoch;
    this.#seqs[row] = frame.seq;
    this.#heardAtMs[row] = nowMs;
    this.#parts[row] = broken;
    this.#part(frame, row);
    this.#index.set(this.#key, 0, 0, row);
  }
}
