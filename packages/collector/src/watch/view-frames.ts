/**
 * Frames made from a view: what changed since the last look, or all of it. The bytes are those
 * that senders use, so a watcher feeds them into its own view by the same ingest.
 *
 * The age a report leaves with is that of its numbers now, the time it lay in this view included.
 * An endpoint that left is told as `gone` with a sequence above its last report.
 *
 * Frames for all watchers are numbered one after the other. Those made for some (a newcomer, one
 * that fell behind) carry the latest of these numbers, so that nobody counts a loss that was none.
 *
 * Cost per changed endpoint: two copies of 256 bytes. Rank numbers are not passed on: they are for
 * people, who ask the collector itself.
 */
import {
  encodeGone,
  type FrameSender,
  FrameWriter,
  frameKind,
  frameOffset,
  goneBytes,
  recordType,
  reportOffset,
} from '@leadsman/wire';
import type { ViewReader } from '../view/view-reader.ts';

/** A frame that leaves a socket within a few ms even at 1 Gbit/s. */
const watchFrameBytesMax = 262_144;

/** What watchers were last told of a slot. */
interface Told {
  generation: number;
  attributesVersion: number;
  podKey: Uint8Array;
  port: number;
  epoch: number;
  seq: number;
}

export class ViewFrames {
  readonly #reader: ViewReader;
  readonly #writer: FrameWriter;
  readonly #told: (Told | undefined)[] = [];
  #frames: Uint8Array[] = [];
  /** Number of the latest frame that was for all. */
  #seq = 1;

  constructor(reader: ViewReader, sender: FrameSender) {
    this.#reader = reader;
    this.#writer = new FrameWriter(sender, watchFrameBytesMax);
  }

  /** Frames of what the reader's last refresh changed; to be called once per refresh. */
  changes(nowMs: number): Uint8Array[] {
    const { changed, changedCount } = this.#reader;
    for (let i = 0; i < changedCount; i++) this.#change(changed[i]!, nowMs);
    return this.#finish(frameKind.changes, true);
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

  #change(slot: number, nowMs: number): void {
    const reader = this.#reader;
    const told = this.#told[slot];
    const used = reader.isUsed(slot);
    const sameUse = used && told?.generation === reader.generation(slot);
    if (told !== undefined && !sameUse) {
      this.#append(recordType.gone, encodeGone({ ...told, seq: told.seq + 1 }), goneBytes);
      this.#told[slot] = undefined;
    }
    if (!used) return;
    this.#report(slot, nowMs);
    const attributesVersion = reader.attributesVersion(slot);
    if (!sameUse || told?.attributesVersion !== attributesVersion) this.#attributes(slot);
    this.#tell(slot, attributesVersion);
  }

  #whole(slot: number, nowMs: number): void {
    this.#report(slot, nowMs);
    this.#attributes(slot);
  }

  #tell(slot: number, attributesVersion: number): void {
    const reader = this.#reader;
    const told = this.#told[slot];
    if (told !== undefined) {
      told.attributesVersion = attributesVersion;
      told.epoch = reader.epoch(slot);
      told.seq = reader.seq(slot);
      return;
    }
    const report = reader.reportBytes(slot);
    this.#told[slot] = {
      generation: reader.generation(slot),
      attributesVersion,
      podKey: report.slice(reportOffset.podKey, reportOffset.podKey + 16),
      port: reader.port(slot),
      epoch: reader.epoch(slot),
      seq: reader.seq(slot),
    };
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
    if (record !== undefined) this.#append(recordType.attributes, record, record.length);
  }

  #append(type: number, payload: Uint8Array, bytes: number): void {
    if (this.#writer.append(type, payload) || !this.#writer.fits(bytes)) return;
    this.#frames.push(this.#writer.finish());
    this.#writer.append(type, payload);
  }

  /** Ends the open frame, numbers all of them and marks them as parts of one whole. */
  #finish(kind: number, forAll: boolean): Uint8Array[] {
    if (this.#writer.records > 0) this.#frames.push(this.#writer.finish());
    const frames = this.#frames;
    this.#frames = [];
    for (const [part, frame] of frames.entries()) {
      const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
      if (forAll) this.#seq++;
      view.setUint8(frameOffset.kind, kind);
      view.setFloat64(frameOffset.seq, this.#seq, true);
      view.setUint16(frameOffset.part, part, true);
      view.setUint16(frameOffset.parts, frames.length, true);
    }
    return frames;
  }
}
