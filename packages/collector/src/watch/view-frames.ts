/**
 * Frames made from a view: what changed since the last look, or all of it. The bytes are those
 * that senders use, so a watcher feeds them into its own view by the same ingest.
 *
 * The age a report leaves with is that of its numbers now, the time it lay in this view included.
 *
 * Who left is told from the {@link Departures} that the ingest of this view notes, never guessed
 * from slots: so with the order of the withdrawal itself, and to whoever was not looking when it
 * happened. An endpoint that is back meanwhile is not told as gone, its newer report says all. For
 * that the view must not be ahead of the reader: ingest and frames share one thread.
 *
 * Frames for all watchers are numbered one after the other. Those made for some (a newcomer, one
 * that fell behind) carry the latest of these numbers, so that nobody counts a loss that was none.
 *
 * Cost per changed endpoint: two copies of a report. Rank numbers are not passed on: they are for
 * people, who ask the collector itself.
 */

import type { ViewReader } from '@leadsman/view/reader';
import {
  type FrameKind,
  type FrameSender,
  FrameWriter,
  frameKind,
  labelFrame,
  recordType,
} from '@leadsman/wire';
import type { Departures } from './departures.ts';

/** A frame that leaves a socket within a few ms even at 1 Gbit/s. */
const watchFrameBytesMax = 262_144;

export class ViewFrames {
  readonly #reader: ViewReader;
  readonly #writer: FrameWriter;
  readonly #departures: Departures;
  /** Per slot, of which use and with which attributes watchers were told last. */
  #generations = new Int32Array(64);
  #attributesVersions = new Int32Array(64);
  #frames: Uint8Array[] = [];
  /** Number of the latest frame that was for all. */
  #seq = 1;

  constructor(reader: ViewReader, departures: Departures, sender: FrameSender) {
    this.#reader = reader;
    this.#departures = departures;
    this.#writer = new FrameWriter(sender, watchFrameBytesMax);
  }

  /**
   * Frames of who left since departure `from`, and of what the reader's last refresh changed; to be
   * called once per refresh.
   */
  changes(from: number, nowMs: number): Uint8Array[] {
    this.#gone(from);
    this.#reserve(this.#reader.slots);
    const { changed, changedCount } = this.#reader;
    for (let i = 0; i < changedCount; i++) this.#change(changed[i]!, nowMs);
    return this.#finish(frameKind.changes, true);
  }

  /** Frames for one watcher: who left since departure `from`; none when nobody did. */
  departed(from: number): Uint8Array[] {
    this.#gone(from);
    return this.#finish(frameKind.changes, false);
  }

  /** Frames for one watcher: of the slots marked in `dirty`, without those that left. */
  marked(dirty: Uint8Array, nowMs: number): Uint8Array[] {
    const slots = Math.min(dirty.length, this.#reader.slots);
    for (let slot = 0; slot < slots; slot++) {
      if (dirty[slot] !== 0 && this.#reader.isUsed(slot)) this.#whole(slot, nowMs);
    }
    return this.#finish(frameKind.changes, false);
  }

  /** Frames of everything, for all or for some; at least one, as it also shows life. */
  keyframe(nowMs: number, forAll: boolean): Uint8Array[] {
    for (let slot = 0; slot < this.#reader.slots; slot++) {
      if (this.#reader.isUsed(slot)) this.#whole(slot, nowMs);
    }
    if (this.#writer.records === 0 && this.#frames.length === 0) {
      this.#frames.push(this.#writer.finish());
    }
    return this.#finish(frameKind.keyframe, forAll);
  }

  #gone(from: number): void {
    const departures = this.#departures;
    for (let n = Math.max(from, departures.oldest); n < departures.count; n++) {
      const key = departures.keyAt(n);
      if (this.#reader.knows(departures.words, key, departures.port(n))) continue;
      this.#append(recordType.gone, departures.record(n));
    }
  }

  #change(slot: number, nowMs: number): void {
    const reader = this.#reader;
    if (!reader.isUsed(slot)) return;
    this.#report(slot, nowMs);
    const generation = reader.generation(slot);
    const version = reader.attributesVersion(slot);
    const isTold =
      this.#generations[slot] === generation && this.#attributesVersions[slot] === version;
    if (isTold) return;
    this.#attributes(slot);
    this.#generations[slot] = generation;
    this.#attributesVersions[slot] = version;
  }

  #whole(slot: number, nowMs: number): void {
    this.#report(slot, nowMs);
    this.#attributes(slot);
  }

  #report(slot: number, nowMs: number): void {
    const reader = this.#reader;
    const report = reader.reportBytes(slot);
    // What the age has grown by since its sender stated it.
    const heldMs = nowMs - reader.measuredAtMs(slot) - reader.statedAgeMs(slot);
    if (this.#writer.appendReport(report, heldMs)) return;
    this.#frames.push(this.#writer.finish());
    this.#writer.appendReport(report, heldMs);
  }

  #attributes(slot: number): void {
    const record = this.#reader.attributesRecord(slot);
    if (record !== undefined) this.#append(recordType.attributes, record);
  }

  #append(type: number, payload: Uint8Array): void {
    if (this.#writer.append(type, payload) || !this.#writer.fits(payload.length)) return;
    this.#frames.push(this.#writer.finish());
    this.#writer.append(type, payload);
  }

  /** Ends the open frame, numbers all of them and marks them as parts of one whole. */
  #finish(kind: FrameKind, forAll: boolean): Uint8Array[] {
    if (this.#writer.records > 0) this.#frames.push(this.#writer.finish());
    const frames = this.#frames;
    this.#frames = [];
    for (const [part, frame] of frames.entries()) {
      if (forAll) this.#seq++;
      labelFrame(frame, { kind, seq: this.#seq, part, parts: frames.length });
    }
    return frames;
  }

  #reserve(slots: number): void {
    if (slots <= this.#generations.length) return;
    const size = Math.min(this.#reader.slotsMax, 2 ** Math.ceil(Math.log2(slots)));
    this.#generations = grown(this.#generations, size);
    this.#attributesVersions = grown(this.#attributesVersions, size);
  }
}

function grown(old: Int32Array, size: number): Int32Array<ArrayBuffer> {
  const next = new Int32Array(size);
  next.set(old);
  return next;
}
