/** Reads ledger messages (ledger.ts): one pass that checks everything, then a cursor. */
import { WireError, wireErrorCode } from './error.ts';
import {
  historyBlocksMax,
  ledgerHeaderBytes,
  ledgerKind,
  ledgerLoadFields,
  ledgerMagic,
  ledgerOffset,
  ledgerPayloadBytes,
  ledgerRecord,
  ledgerVersion,
} from './ledger.ts';
import { counterMax, frameBytesMax, recordHeaderBytes } from './limits.ts';
import { podKeyBytes, podKeyText } from './pod-key.ts';

/**
 * Reads messages: `load` checks a whole one, `next` walks its records of known types. What the
 * accessors return is valid until the next `load`, whose argument must not change meanwhile.
 */
export class LedgerReader {
  kind = 0;
  epoch = 0;
  seq = 0;
  sentAtMs = 0;
  /** The current record. */
  type = 0;
  bytes: Uint8Array = new Uint8Array(0);
  #view: DataView = new DataView(new ArrayBuffer(0));
  #at = 0;
  #next = 0;
  #end = 0;

  /** Throws {@link WireError} when the message breaks a rule; then nothing can be read. */
  load(message: Uint8Array): void {
    this.#next = 0;
    this.#end = 0;
    const { length } = message;
    if (length > frameBytesMax) throw new WireError(wireErrorCode.bounds, 'ledger message');
    if (length < ledgerHeaderBytes) throw new WireError(wireErrorCode.truncated, 'ledger message');
    const view = new DataView(message.buffer, message.byteOffset, length);
    if (view.getUint32(ledgerOffset.magic, true) !== ledgerMagic) {
      throw new WireError(wireErrorCode.magic, 'not a ledger message');
    }
    if (view.getUint8(ledgerOffset.version) !== ledgerVersion) {
      throw new WireError(wireErrorCode.version, 'unknown ledger version');
    }
    if (view.getUint32(ledgerOffset.bytes, true) !== length) {
      throw new WireError(wireErrorCode.truncated, 'ledger message length');
    }
    const first = view.getUint16(ledgerOffset.headerBytes, true);
    if (first < ledgerHeaderBytes || first % 8 !== 0 || first > length) {
      throw new WireError(wireErrorCode.bounds, 'ledger header length');
    }
    this.bytes = message;
    this.#view = view;
    this.#readHeader();
    this.#checkRecords(first, length);
    this.#next = first;
    this.#end = length;
  }

  /** Moves to the next record of a known type; `false` at the end. */
  next(): boolean {
    while (this.#next < this.#end) {
      this.type = this.#view.getUint16(this.#next, true);
      this.#at = this.#next + recordHeaderBytes;
      this.#next = this.#at + this.#view.getUint32(this.#next + 4, true);
      if (this.type >= ledgerRecord.echo && this.type <= ledgerRecord.history) return true;
    }
    return false;
  }

  /** The sender's id as text. Allocates. */
  replicaText(): string {
    return podKeyText(this.bytes, ledgerOffset.replicaId);
  }

  /** A copy of the sender's id. */
  replicaId(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(
      this.bytes.subarray(ledgerOffset.replicaId, ledgerOffset.replicaId + podKeyBytes),
    );
  }

  /** Whether the current echo is for this replica. */
  isEchoFor(replicaId: Uint8Array): boolean {
    for (let i = 0; i < podKeyBytes; i++) {
      if (this.bytes[this.#at + i] !== replicaId[i]) return false;
    }
    return true;
  }

  get echoSentAtMs(): number {
    return this.#view.getFloat64(this.#at + 16, true);
  }

  get echoHeldMs(): number {
    return this.#view.getFloat64(this.#at + 24, true);
  }

  /** Target of a load or history record as `<uid>/<port>`. Allocates. */
  target(): string {
    return `${podKeyText(this.bytes, this.#at)}/${this.#view.getUint16(this.#at + 16, true)}`;
  }

  /** Number `field` (0 … 3) of the current load. */
  loadField(field: number): number {
    return this.#view.getInt32(this.#at + 24 + field * 4, true);
  }

  /** Copies the current history's blocks; returns their number. */
  historyBlocks(high: Int32Array, low: Int32Array): number {
    const count = this.#view.getUint16(this.#at + 18, true);
    for (let i = 0; i < count; i++) {
      const block = this.#at + ledgerPayloadBytes.historyHead + i * 8;
      high[i] = this.#view.getInt32(block, true);
      low[i] = this.#view.getInt32(block + 4, true);
    }
    return count;
  }

  #readHeader(): void {
    const view = this.#view;
    this.kind = view.getUint8(ledgerOffset.kind);
    this.epoch = view.getFloat64(ledgerOffset.epoch, true);
    this.seq = view.getFloat64(ledgerOffset.seq, true);
    this.sentAtMs = view.getFloat64(ledgerOffset.sentAtMs, true);
    if (this.kind > ledgerKind.leaving) throw new WireError(wireErrorCode.value, 'ledger kind');
    for (const value of [this.epoch, this.seq]) {
      if (!Number.isInteger(value) || value < 1 || value > counterMax) {
        throw new WireError(wireErrorCode.bounds, 'epoch or seq');
      }
    }
    if (!Number.isFinite(this.sentAtMs)) throw new WireError(wireErrorCode.value, 'sent at');
  }

  #checkRecords(first: number, end: number): void {
    let at = first;
    let records = 0;
    while (at < end) {
      if (at + recordHeaderBytes > end) throw new WireError(wireErrorCode.truncated, 'record');
      const type = this.#view.getUint16(at, true);
      const length = this.#view.getUint32(at + 4, true);
      if (length % 8 !== 0) throw new WireError(wireErrorCode.bounds, 'record length');
      if (length > end - at - recordHeaderBytes) {
        throw new WireError(wireErrorCode.truncated, 'record payload');
      }
      this.#checkRecord(type, at + recordHeaderBytes, length);
      at += recordHeaderBytes + length;
      records++;
    }
    if (records !== this.#view.getUint32(ledgerOffset.records, true)) {
      throw new WireError(wireErrorCode.bounds, 'record count');
    }
  }

  #checkRecord(type: number, at: number, length: number): void {
    if (type === ledgerRecord.echo) this.#checkEcho(at, length);
    else if (type === ledgerRecord.load) this.#checkLoad(at, length);
    else if (type === ledgerRecord.history) this.#checkHistory(at, length);
  }

  #checkEcho(at: number, length: number): void {
    if (length < ledgerPayloadBytes.echo) throw new WireError(wireErrorCode.truncated, 'echo');
    const sum = this.#view.getFloat64(at + 16, true) + this.#view.getFloat64(at + 24, true);
    if (!Number.isFinite(sum)) throw new WireError(wireErrorCode.value, 'echo times');
  }

  #checkLoad(at: number, length: number): void {
    if (length < ledgerPayloadBytes.load) throw new WireError(wireErrorCode.truncated, 'load');
    if (this.#view.getUint16(at + 16, true) === 0)
      throw new WireError(wireErrorCode.bounds, 'port');
    for (let field = 0; field < ledgerLoadFields; field++) {
      if (this.#view.getInt32(at + 24 + field * 4, true) < 0) {
        throw new WireError(wireErrorCode.value, 'negative load');
      }
    }
  }

  #checkHistory(at: number, length: number): void {
    if (length < ledgerPayloadBytes.historyHead)
      throw new WireError(wireErrorCode.truncated, 'history');
    if (this.#view.getUint16(at + 16, true) === 0)
      throw new WireError(wireErrorCode.bounds, 'port');
    const blocks = this.#view.getUint16(at + 18, true);
    if (blocks > historyBlocksMax) throw new WireError(wireErrorCode.bounds, 'history blocks');
    if (ledgerPayloadBytes.historyHead + blocks * 8 > length) {
      throw new WireError(wireErrorCode.truncated, 'history blocks');
    }
  }
}
