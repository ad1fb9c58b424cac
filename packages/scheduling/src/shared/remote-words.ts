/**
 * Where the other replicas' in-flight numbers lie in shared memory. One writer, the main thread
 * ({@link RemoteWords}); readers are the ledgers of the workers.
 *
 * ```
 * replicas | share delay ms | endpoint 0: one word per in-flight field | endpoint 1: … | …
 * ```
 */
import { type AllocateShared, allocateInProcess } from '@leadsman/service/processes/shared-memory';
import { inFlightFields } from './in-flight-table.ts';

/** Words of the remote part: the fields of the in-flight table by endpoint. */
export function createRemoteBuffer(
  endpointsMax: number,
  allocate: AllocateShared = allocateInProcess,
): ArrayBufferLike {
  return allocate((endpointsMax * inFlightFields + remoteHeaderWords) * 4);
}

/** Words before the endpoints' ones: live replicas besides this one, share delay in ms. */
export const remoteHeaderWords = 2;
export const remoteHeader = { replicas: 0, shareDelayMs: 1 } as const;

/** The writing side; one per process. */
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
