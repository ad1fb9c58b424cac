/** The writing side of the shared remote words (ledger.ts); one per process, in the main thread. */
import { inFlightFields } from '../../in-flight/table.ts';
import { remoteHeader, remoteHeaderWords } from '../ledger.ts';

export class RemoteWords {
  readonly #words: Int32Array;

  constructor(buffer: ArrayBufferLike) {
    this.#words = new Int32Array(buffer);
  }

  add(index: number, field: number, change: number): void {
    this.#words[remoteHeaderWords + index * inFlightFields + field]! += change;
  }

  /** `replicas`: others that count; `shareDelayMs`: age of their numbers when they arrive. */
  setReplicas(replicas: number, shareDelayMs: number): void {
    this.#words[remoteHeader.replicas] = replicas;
    this.#words[remoteHeader.shareDelayMs] = Math.ceil(shareDelayMs);
  }
}
