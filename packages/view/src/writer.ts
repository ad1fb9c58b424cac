/**
 * The writing side of a fleet view: slots are taken, filled, given new attributes and freed. What
 * goes into them and when (order, expiry) is decided by the ingest; nothing here compares reports.
 *
 * One writer per view. A writer made over a view that another one left, even in the middle of a
 * write, takes it over: whole slots stay as they are, torn ones are emptied. The older writer, if
 * it still lives, notices at its next frame and stops ({@link viewErrorCode.superseded}).
 *
 * Cost of a report: two atomic adds and some forty plain stores. No allocation.
 */
import { copyReport } from '@leadsman/wire';
import { ViewError, viewErrorCode } from './error.ts';
import {
  attributesSlotBytes,
  bodyInt,
  bodyWord,
  bodyWords,
  type FeedState,
  feedState,
  headerWord,
  ViewMemory,
} from './layout.ts';
import { beginWrite, endWrite, isBeingWritten } from './sequence.ts';

export class ViewWriter {
  /** Slots emptied at takeover, as their last write had not ended. */
  readonly tornSlots: number;
  readonly #memory: ViewMemory;
  readonly #identity: number;
  /** Empty slots below the high-water mark, as a stack; low slots on top at takeover. */
  readonly #free: Int32Array;
  #freeCount = 0;
  #slots: number;
  #used = 0;

  /** Takes over `shared`. Throws {@link ViewError} when it is no view of this version. */
  constructor(shared: ArrayBufferLike) {
    this.#memory = new ViewMemory(shared);
    this.#free = new Int32Array(this.#memory.slotsMax);
    const header = this.#memory.header;
    this.#identity = (Atomics.add(header, headerWord.writer, 1) + 1) | 0;
    this.#slots = Math.min(Atomics.load(header, headerWord.slots), this.#memory.slotsMax);
    this.tornSlots = this.#takeOver();
    const neverFed = Atomics.load(header, headerWord.feed) === feedState.never;
    this.setFeed(neverFed ? feedState.never : feedState.disconnected);
    this.commit();
  }

  get slotsMax(): number {
    return this.#memory.slotsMax;
  }

  /** High-water mark: every used slot is below it. */
  get slots(): number {
    return this.#slots;
  }

  get used(): number {
    return this.#used;
  }

  /** The view's parts, for the owner of the writer to read what a former writer left. */
  get memory(): ViewMemory {
    return this.#memory;
  }

  isUsed(slot: number): boolean {
    return this.#memory.bodyInts[slot * bodyWords * 2 + bodyInt.used] === 1;
  }

  /** A free slot with a new generation, still empty to readers; -1 when all are taken (counted). */
  allocate(): number {
    const { header, slotsMax } = this.#memory;
    if (this.#freeCount > 0) return this.#free[--this.#freeCount]!;
    if (this.#slots === slotsMax) {
      Atomics.add(header, headerWord.droppedFull, 1);
      return -1;
    }
    const slot = this.#slots++;
    Atomics.store(header, headerWord.slots, this.#slots);
    return slot;
  }

  /**
   * Stores a report, given as words of a larger array (`floats` and `ints` alias one buffer, `word`
   * is the report's first float64), with the receiver's times.
   */
  storeReport(
    slot: number,
    floats: Float64Array,
    ints: Int32Array,
    word: number,
    receivedAtMs: number,
    measuredAtMs: number,
  ): void {
    const { sequences, bodyFloats, bodyInts } = this.#memory;
    const at = slot * bodyWords;
    const isNew = bodyInts[at * 2 + bodyInt.used] === 0;
    beginWrite(sequences, slot);
    if (isNew) {
      bodyInts[at * 2 + bodyInt.generation] = bodyInts[at * 2 + bodyInt.generation]! + 1;
      bodyInts[at * 2 + bodyInt.used] = 1;
    }
    bodyFloats[at + bodyWord.receivedAtMs] = receivedAtMs;
    bodyFloats[at + bodyWord.measuredAtMs] = measuredAtMs;
    copyReport(floats, ints, word, bodyFloats, bodyInts, at + bodyWord.report);
    endWrite(sequences, slot);
    if (isNew) this.#used++;
  }

  /** Stores the attributes record of a used slot (at most {@link attributesBytesMax} bytes). */
  storeAttributes(slot: number, record: Uint8Array): void {
    const { sequences, bodyInts, attributes, attributeView } = this.#memory;
    const versionAt = slot * bodyWords * 2 + bodyInt.attributesVersion;
    const at = slot * attributesSlotBytes;
    if (record.length > attributesSlotBytes - 8) {
      throw new ViewError(viewErrorCode.bounds, `attributes of ${record.length} bytes`);
    }
    beginWrite(sequences, slot);
    attributeView.setUint32(at, record.length, true);
    attributes.set(record, at + 8);
    // Never 0 again for this use of the slot: 0 means that there are none.
    bodyInts[versionAt] = (bodyInts[versionAt]! + 1) | 0 || 1;
    endWrite(sequences, slot);
  }

  /** Empties a slot; its generation stays until the slot is used again. */
  free(slot: number): void {
    if (!this.isUsed(slot)) return;
    beginWrite(this.#memory.sequences, slot);
    this.#empty(slot);
    endWrite(this.#memory.sequences, slot);
    this.#used--;
    this.#free[this.#freeCount++] = slot;
  }

  /** Throws {@link ViewError} `superseded` when a newer writer owns the view. */
  mustOwn(): void {
    if (Atomics.load(this.#memory.header, headerWord.writer) === this.#identity) return;
    throw new ViewError(viewErrorCode.superseded, 'another writer owns this view');
  }

  /** Tells readers that a frame's worth of writes is done. */
  commit(): void {
    Atomics.add(this.#memory.header, headerWord.commits, 1);
  }

  heartbeat(nowMs: number): void {
    Atomics.store(this.#memory.header, headerWord.heartbeat, wrapMs(nowMs));
  }

  setFeed(state: FeedState): void {
    Atomics.store(this.#memory.header, headerWord.feed, state);
    if (state === feedState.synced) Atomics.store(this.#memory.header, headerWord.everSynced, 1);
  }

  #takeOver(): number {
    const { sequences, bodyInts } = this.#memory;
    let torn = 0;
    for (let slot = this.#slots - 1; slot >= 0; slot--) {
      if (isBeingWritten(Atomics.load(sequences, slot))) {
        // The word is odd already: empty the slot inside the dead writer's lock, then leave it.
        this.#empty(slot);
        bodyInts[slot * bodyWords * 2 + bodyInt.generation]! += 1;
        endWrite(sequences, slot);
        torn++;
      }
      if (this.isUsed(slot)) this.#used++;
      else this.#free[this.#freeCount++] = slot;
    }
    return torn;
  }

  #empty(slot: number): void {
    const { bodyFloats, bodyInts } = this.#memory;
    const at = slot * bodyWords;
    const generation = bodyInts[at * 2 + bodyInt.generation]!;
    bodyFloats.fill(0, at, at + bodyWords);
    bodyInts[at * 2 + bodyInt.generation] = generation;
  }
}

/** Monotonic ms as an i32 that wraps every 50 days; differences below 24 days stay right. */
function wrapMs(nowMs: number): number {
  // `| 0` wraps modulo 2^32 for every finite number, also above 2^31.
  return Math.floor(nowMs) | 0;
}
