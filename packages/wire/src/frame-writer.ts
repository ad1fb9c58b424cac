/**
 * Builds frames in one reused buffer. Cost per record: one copy. The caller flushes when
 * {@link FrameWriter.append} says that the frame is full, which is how a batch is split by the
 * server's advertised `max_payload`.
 */
import { WireError, wireErrorCode } from './error.ts';
import {
  type FrameKind,
  frameKind,
  frameMagic,
  frameOffset,
  frameVersion,
  recordType,
  senderIdBytes,
} from './frame.ts';
import {
  counterMax,
  frameBytesMax,
  frameBytesMin,
  frameHeaderBytes,
  recordHeaderBytes,
} from './limits.ts';
import { reportOffset } from './report-layout.ts';

export interface FrameSender {
  /** 16 random bytes, chosen when the process starts. */
  id: Uint8Array;
  /** Unix time of the process's start, ms; only compared with this sender's own. */
  epoch: number;
}

export class FrameWriter {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #sender: FrameSender;
  #seq = 0;
  #at = frameHeaderBytes;
  #records = 0;

  /** `bytesMax` bounds every frame, header included; {@link frameBytesMin} to {@link frameBytesMax}. */
  constructor(sender: FrameSender, bytesMax: number = frameBytesMax) {
    if (sender.id.length !== senderIdBytes) {
      throw new WireError(wireErrorCode.bounds, 'sender id');
    }
    if (bytesMax < frameBytesMin || bytesMax > frameBytesMax) {
      throw new WireError(wireErrorCode.bounds, `frame size ${bytesMax}`);
    }
    this.#sender = sender;
    this.#bytes = new Uint8Array(Math.floor(bytesMax / 8) * 8);
    this.#view = new DataView(this.#bytes.buffer);
  }

  get records(): number {
    return this.#records;
  }

  get bytesMax(): number {
    return this.#bytes.length;
  }

  /** Whether a record of this payload could ever fit: if not, drop and count it. */
  fits(payloadBytes: number): boolean {
    return frameHeaderBytes + recordHeaderBytes + padded(payloadBytes) <= this.#bytes.length;
  }

  /** Appends a record; `false` when this frame has no room left for it. */
  append(type: number, payload: Uint8Array): boolean {
    const length = padded(payload.length);
    const end = this.#at + recordHeaderBytes + length;
    if (end > this.#bytes.length) return false;
    this.#view.setUint16(this.#at, type, true);
    this.#view.setUint16(this.#at + 2, 0, true);
    this.#view.setUint32(this.#at + 4, length, true);
    this.#bytes.set(payload, this.#at + recordHeaderBytes);
    this.#bytes.fill(0, this.#at + recordHeaderBytes + payload.length, end);
    this.#at = end;
    this.#records++;
    return true;
  }

  /**
   * Appends a report that was held here for `heldMs`, adding that to the age of its numbers, up to
   * {@link counterMax}: an age above it would have receivers refuse all that is in the frame.
   */
  appendReport(report: Uint8Array, heldMs: number): boolean {
    const at = this.#at + recordHeaderBytes + reportOffset.ageMs;
    if (!this.append(recordType.report, report)) return false;
    const ageMs = this.#view.getFloat64(at, true) + Math.max(0, heldMs);
    this.#view.setFloat64(at, Math.min(counterMax, ageMs), true);
    return true;
  }

  /**
   * Completes the frame and begins the next. The result is a new array, as transports keep what
   * they are given until it is sent.
   */
  finish(kind: FrameKind = frameKind.changes, part = 0, parts = 1): Uint8Array {
    const view = this.#view;
    this.#seq++;
    view.setUint32(frameOffset.magic, frameMagic, true);
    view.setUint8(frameOffset.version, frameVersion);
    view.setUint16(frameOffset.headerBytes, frameHeaderBytes, true);
    this.#bytes.set(this.#sender.id, frameOffset.senderId);
    view.setFloat64(frameOffset.senderEpoch, this.#sender.epoch, true);
    view.setUint32(frameOffset.records, this.#records, true);
    view.setUint32(frameOffset.bytes, this.#at, true);
    view.setUint32(frameOffset.parts + 2, 0, true);
    labelFrame(this.#bytes, { kind, seq: this.#seq, part, parts });
    const frame = this.#bytes.slice(0, this.#at);
    this.#at = frameHeaderBytes;
    this.#records = 0;
    return frame;
  }
}

/** What a frame says of its place among its sender's frames. */
export interface FrameLabel {
  kind: FrameKind;
  seq: number;
  part: number;
  parts: number;
}

/** Gives a finished frame another place, where that is known only after a later one was made. */
export function labelFrame(frame: Uint8Array, label: FrameLabel): void {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
  view.setUint8(frameOffset.kind, label.kind);
  view.setFloat64(frameOffset.seq, label.seq, true);
  view.setUint16(frameOffset.part, label.part, true);
  view.setUint16(frameOffset.parts, label.parts, true);
}

function padded(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}
