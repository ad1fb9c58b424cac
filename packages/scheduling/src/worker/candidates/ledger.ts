/**
 * What is in flight at each endpoint as far as pickers know: this process's own requests, counted
 * at once in the shared in-flight table, plus what the other replicas last said of theirs.
 *
 * Every number is by in-flight index (`Endpoint.index`). The remote words have one writer, the
 * main thread, and plain Int32 loads of other threads never tear; a worker may read a word a few
 * microseconds late, which is nothing beside the 20 ms between two messages of a replica.
 */
import { InFlightField, type InFlightTable, inFlightFields } from '../../shared/in-flight-table.ts';
import { remoteHeader, remoteHeaderWords } from '../../shared/remote-words.ts';

export class Ledger {
  /**
   * This process's numbers and the other replicas', `inFlightFields` words per endpoint each. For
   * loops over many endpoints, which add the two words themselves; all others ask the methods.
   */
  readonly own: Int32Array;
  readonly remote: Int32Array;
  readonly #header: Int32Array;
  readonly #workers: number;

  constructor(inFlight: InFlightTable, remote: ArrayBufferLike) {
    this.own = inFlight.totals;
    this.#workers = inFlight.workers;
    this.#header = new Int32Array(remote, 0, remoteHeaderWords);
    this.remote = new Int32Array(remote, remoteHeaderWords * 4);
  }

  /** Other replicas that are alive and tell of their requests in time. */
  get otherReplicas(): number {
    return this.#header[remoteHeader.replicas] ?? 0;
  }

  /** Workers of all replicas, this one included; others are taken to have as many as we. */
  get workers(): number {
    return this.#workers * (1 + this.otherReplicas);
  }

  /** How old another replica's numbers are at most when they arrive, ms. */
  get shareDelayMs(): number {
    return this.#header[remoteHeader.shareDelayMs] ?? 0;
  }

  /** Requests sent to the endpoint that have not ended. */
  requests(index: number): number {
    return this.#sum(index, InFlightField.requests);
  }

  /** Uncached prompt tokens of the requests without a first token. */
  pendingTokens(index: number): number {
    return this.#sum(index, InFlightField.pendingTokens);
  }

  /** Requests past their first token. */
  decoding(index: number): number {
    return this.#sum(index, InFlightField.decoding);
  }

  /** Prompt tokens of all requests in flight. */
  promptTokens(index: number): number {
    return this.#sum(index, InFlightField.promptTokens);
  }

  #sum(index: number, field: InFlightField): number {
    const at = index * inFlightFields + field;
    return this.own[at]! + this.remote[at]!;
  }
}
