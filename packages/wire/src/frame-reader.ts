/**
 * Reads frames without allocating per record: one copy of the frame into an aligned buffer, one
 * pass that checks everything, then a cursor over records that are known to be sound.
 *
 * ```ts
 * reader.load(payload);           // throws WireError, nothing was applied
 * while (reader.next()) {
 *   if (reader.type === recordType.report) store(reader.words, reader.offset / 8);
 * }
 * ```
 *
 * `bytes`, `view`, `words` and the offsets are valid until the next `load`.
 */
import { checkAttributes } from './attributes.ts';
import { WireError, wireErrorCode } from './error.ts';
import {
  type FrameKind,
  frameKind,
  frameMagic,
  frameOffset,
  frameVersion,
  recordType,
} from './frame.ts';
import {
  counterMax,
  frameBytesMax,
  frameHeaderBytes,
  frameRecordsMax,
  recordBytesMax,
  recordHeaderBytes,
} from './limits.ts';
import { podKeyText } from './pod-key.ts';
import { checkRanks } from './ranks.ts';
import {
  checkRecordHead,
  recordEpochAt,
  recordHead,
  recordPortAt,
  recordPositionAt,
} from './record-head.ts';
import { checkReport, isReportKnown, statedNumbers } from './report.ts';
import { reportOffset } from './report-layout.ts';

export class FrameReader {
  /** The frame's bytes, from its first. */
  bytes: Uint8Array;
  view: DataView;
  /** The same bytes as float64 words; sound because records are 8-byte aligned. */
  words: Float64Array;
  /** And as int32 words. */
  ints: Int32Array;
  kind: FrameKind = frameKind.changes;
  senderEpoch = 0;
  seq = 0;
  part = 0;
  parts = 1;
  records = 0;
  /** Records of a type or format that this reader does not know, in the loaded frame. */
  unknownRecords = 0;
  /** The current record. */
  type = 0;
  offset = 0;
  length = 0;
  #first = 0;
  #end = 0;
  #next = 0;

  constructor() {
    const buffer = new ArrayBuffer(16_384);
    this.bytes = new Uint8Array(buffer);
    this.view = new DataView(buffer);
    this.words = new Float64Array(buffer);
    this.ints = new Int32Array(buffer);
  }

  /** Where in {@link bytes} the sender's id begins. */
  get senderByte(): number {
    return frameOffset.senderId;
  }

  /** The sender's id as text, for maps and logs. Allocates: once per frame, never per record. */
  senderText(): string {
    return podKeyText(this.bytes, frameOffset.senderId);
  }

  /** Copies and checks a whole frame. Throws {@link WireError}; then nothing can be read. */
  load(frame: Uint8Array): void {
    this.#first = 0;
    this.#end = 0;
    this.#next = 0;
    if (frame.length > frameBytesMax) throw new WireError(wireErrorCode.bounds, 'frame too long');
    if (frame.length < frameHeaderBytes) {
      throw new WireError(wireErrorCode.truncated, 'frame too short');
    }
    this.#reserve(frame.length);
    this.bytes.set(frame);
    const first = this.#checkHeader(frame.length);
    this.#checkRecords(first, frame.length);
    this.#first = first;
    this.#next = first;
    this.#end = frame.length;
  }

  /** Moves to the next record of a known type; `false` at the end. */
  next(): boolean {
    while (this.#next < this.#end) {
      this.type = this.view.getUint16(this.#next, true);
      this.length = this.view.getUint32(this.#next + 4, true);
      this.offset = this.#next + recordHeaderBytes;
      this.#next = this.offset + this.length;
      // Mostly there is none that is not known, which the check of the frame has found out.
      if (this.unknownRecords === 0 || this.#isKnown()) return true;
    }
    return false;
  }

  /** Where in {@link bytes} the current record's pod key begins. */
  get keyByte(): number {
    return this.offset + (this.#isReport ? reportOffset.podKey : recordHead.podKey);
  }

  /** The serving port that the current record speaks of. */
  get port(): number {
    if (this.#isReport) return this.view.getUint16(this.offset + reportOffset.port, true);
    return recordPortAt(this.view, this.offset);
  }

  /** The current record's epoch. */
  get epoch(): number {
    if (this.#isReport) return this.view.getFloat64(this.offset + reportOffset.epoch, true);
    return recordEpochAt(this.view, this.offset);
  }

  /** The current record's place in its epoch: a sequence, or the revision of attributes. */
  get position(): number {
    if (this.#isReport) return this.view.getFloat64(this.offset + reportOffset.seq, true);
    return recordPositionAt(this.view, this.offset);
  }

  /** Where in {@link bytes} the address begins that the current record, a report, states. */
  get addressByte(): number {
    return this.offset + reportOffset.address;
  }

  /** Goes back to before the first record of the loaded frame. */
  rewind(): void {
    this.#next = this.#first;
  }

  get #isReport(): boolean {
    return this.type === recordType.report;
  }

  #isKnown(): boolean {
    if (this.#isReport) return isReportKnown(this.view, this.offset);
    return this.type > recordType.report && this.type <= recordType.gone;
  }

  #checkHeader(length: number): number {
    const view = this.view;
    if (view.getUint32(frameOffset.magic, true) !== frameMagic) {
      throw new WireError(wireErrorCode.magic, 'not a frame');
    }
    if (view.getUint8(frameOffset.version) !== frameVersion) {
      throw new WireError(wireErrorCode.version, 'unknown frame version');
    }
    const headerBytes = view.getUint16(frameOffset.headerBytes, true);
    if (headerBytes < frameHeaderBytes || headerBytes % 8 !== 0 || headerBytes > length) {
      throw new WireError(wireErrorCode.bounds, 'header length');
    }
    if (view.getUint32(frameOffset.bytes, true) !== length) {
      throw new WireError(wireErrorCode.truncated, 'frame length differs from its header');
    }
    const kind = view.getUint8(frameOffset.kind);
    if (kind !== frameKind.changes && kind !== frameKind.keyframe) {
      throw new WireError(wireErrorCode.value, 'unknown frame kind');
    }
    this.kind = kind;
    this.senderEpoch = view.getFloat64(frameOffset.senderEpoch, true);
    this.seq = view.getFloat64(frameOffset.seq, true);
    for (const value of [this.senderEpoch, this.seq]) {
      if (!Number.isInteger(value) || value < 1 || value > counterMax) {
        throw new WireError(wireErrorCode.bounds, 'sender epoch or seq');
      }
    }
    this.records = view.getUint32(frameOffset.records, true);
    if (this.records > frameRecordsMax) {
      throw new WireError(wireErrorCode.bounds, 'too many records');
    }
    this.part = view.getUint16(frameOffset.part, true);
    this.parts = view.getUint16(frameOffset.parts, true);
    if (this.parts < 1 || this.part >= this.parts) {
      throw new WireError(wireErrorCode.bounds, 'part number');
    }
    return headerBytes;
  }

  #checkRecords(first: number, end: number): void {
    let at = first;
    let records = 0;
    this.unknownRecords = 0;
    while (at < end) {
      if (at + recordHeaderBytes > end) {
        throw new WireError(wireErrorCode.truncated, 'record header');
      }
      const type = this.view.getUint16(at, true);
      const length = this.view.getUint32(at + 4, true);
      const offset = at + recordHeaderBytes;
      if (length % 8 !== 0) throw new WireError(wireErrorCode.bounds, 'record length');
      if (length > end - offset) throw new WireError(wireErrorCode.truncated, 'record payload');
      this.#checkRecord(type, offset, length);
      at = offset + length;
      records++;
    }
    if (records !== this.records) throw new WireError(wireErrorCode.bounds, 'record count');
  }

  #checkRecord(type: number, offset: number, length: number): void {
    const isLong = length > recordBytesMax;
    if (isLong && type >= recordType.report && type <= recordType.gone) {
      throw new WireError(wireErrorCode.bounds, 'record too long');
    }
    if (type === recordType.report) {
      if (checkReport(this.view, offset, length)) {
        // So that whoever reads it in place need not know where its record ends.
        const counted = this.view.getUint16(offset + reportOffset.metricsCount, true);
        const stated = statedNumbers(counted, length);
        if (stated < counted) {
          this.view.setUint16(offset + reportOffset.metricsCount, stated, true);
        }
      } else this.unknownRecords++;
    } else if (type === recordType.attributes) checkAttributes(this.view, offset, length);
    else if (type === recordType.ranks) checkRanks(this.view, offset, length);
    else if (type === recordType.gone) checkRecordHead(this.view, offset, length);
    else this.unknownRecords++;
  }

  #reserve(length: number): void {
    if (this.bytes.length >= length) return;
    const size = Math.min(frameBytesMax, 2 ** Math.ceil(Math.log2(length)));
    const buffer = new ArrayBuffer(Math.ceil(size / 8) * 8);
    this.bytes = new Uint8Array(buffer);
    this.view = new DataView(buffer);
    this.words = new Float64Array(buffer);
    this.ints = new Int32Array(buffer);
  }
}
