/** Writes ledger messages (ledger.ts) without allocating per record. */
import { WireError, wireErrorCode } from './error.ts';
import {
  historyBlocksMax,
  ledgerHeaderBytes,
  ledgerMagic,
  ledgerOffset,
  ledgerPayloadBytes,
  ledgerRecord,
  ledgerVersion,
} from './ledger.ts';
import { counterMax, frameBytesMax, recordHeaderBytes } from './limits.ts';
import { podKeyBytes } from './pod-key.ts';

/** Writes one message after the other into one buffer of {@link frameBytesMax} bytes at most. */
export class LedgerWriter {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #view: DataView;
  #length = ledgerHeaderBytes;
  #records = 0;

  constructor(bytesMax: number = frameBytesMax) {
    if (bytesMax < 1_024 || bytesMax > frameBytesMax) {
      throw new WireError(wireErrorCode.bounds, 'ledger message size');
    }
    this.#bytes = new Uint8Array(bytesMax);
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#length;
  }

  get records(): number {
    return this.#records;
  }

  /** Begins a message, dropping what was not finished. */
  begin(): void {
    this.#length = ledgerHeaderBytes;
    this.#records = 0;
  }

  /** `false`: no room, nothing was written. */
  echo(replicaId: Uint8Array, sentAtMs: number, heldMs: number): boolean {
    const at = this.#record(ledgerRecord.echo, ledgerPayloadBytes.echo);
    if (at < 0) return false;
    this.#bytes.set(replicaId.subarray(0, podKeyBytes), at);
    this.#view.setFloat64(at + 16, sentAtMs, true);
    this.#view.setFloat64(at + 24, heldMs, true);
    return true;
  }

  /** `false`: no room, nothing was written. */
  load(
    podKey: Uint8Array,
    port: number,
    requests: number,
    pendingTokens: number,
    decoding: number,
    promptTokens: number,
  ): boolean {
    const at = this.#record(ledgerRecord.load, ledgerPayloadBytes.load);
    if (at < 0) return false;
    this.#target(at, podKey, port);
    this.#view.setInt32(at + 24, requests, true);
    this.#view.setInt32(at + 28, pendingTokens, true);
    this.#view.setInt32(at + 32, decoding, true);
    this.#view.setInt32(at + 36, promptTokens, true);
    return true;
  }

  /** Blocks 0 … count − 1. `false`: no room, or more than {@link historyBlocksMax}. */
  history(
    podKey: Uint8Array,
    port: number,
    high: Int32Array,
    low: Int32Array,
    count: number,
  ): boolean {
    if (count > historyBlocksMax) return false;
    const at = this.#record(ledgerRecord.history, ledgerPayloadBytes.historyHead + count * 8);
    if (at < 0) return false;
    this.#target(at, podKey, port);
    this.#view.setUint16(at + 18, count, true);
    for (let i = 0; i < count; i++) {
      const block = at + ledgerPayloadBytes.historyHead + i * 8;
      this.#view.setInt32(block, high[i] ?? 0, true);
      this.#view.setInt32(block + 4, low[i] ?? 0, true);
    }
    return true;
  }

  /** The finished message; valid until the next `begin`. Throws {@link WireError} on bad numbers. */
  finish(
    kind: number,
    replicaId: Uint8Array,
    epoch: number,
    seq: number,
    sentAtMs: number,
  ): Uint8Array<ArrayBuffer> {
    for (const value of [epoch, seq]) {
      if (!Number.isInteger(value) || value < 1 || value > counterMax) {
        throw new WireError(wireErrorCode.bounds, 'epoch or seq');
      }
    }
    if (replicaId.length !== podKeyBytes) throw new WireError(wireErrorCode.bounds, 'replica id');
    const view = this.#view;
    view.setUint32(ledgerOffset.magic, ledgerMagic, true);
    view.setUint8(ledgerOffset.version, ledgerVersion);
    view.setUint8(ledgerOffset.kind, kind);
    view.setUint16(ledgerOffset.headerBytes, ledgerHeaderBytes, true);
    this.#bytes.set(replicaId, ledgerOffset.replicaId);
    view.setFloat64(ledgerOffset.epoch, epoch, true);
    view.setFloat64(ledgerOffset.seq, seq, true);
    view.setFloat64(ledgerOffset.sentAtMs, sentAtMs, true);
    view.setUint32(ledgerOffset.records, this.#records, true);
    view.setUint32(ledgerOffset.bytes, this.#length, true);
    return this.#bytes.subarray(0, this.#length);
  }

  #record(type: number, payload: number): number {
    const at = this.#length + recordHeaderBytes;
    if (at + payload > this.#bytes.length) return -1;
    // The buffer still holds an earlier message; reserved bytes must be 0.
    this.#bytes.fill(0, this.#length, at + payload);
    this.#view.setUint16(this.#length, type, true);
    this.#view.setUint32(this.#length + 4, payload, true);
    this.#length = at + payload;
    this.#records++;
    return at;
  }

  #target(at: number, podKey: Uint8Array, port: number): void {
    this.#bytes.set(podKey.subarray(0, podKeyBytes), at);
    this.#view.setUint16(at + 16, port, true);
  }
}
