/**
 * Which HTTP requests this worker has in flight, by an identity made of `x-request-id` and what was
 * seen of the request, so that one for which a gateway opens several streams (several routes or
 * filters to one pool) is picked for and counted once.
 *
 * A stream joins a request only while that request has not shown a response: filters of one
 * request run before its response comes, whereas a client that uses one id again and again soon
 * does so after it. And only so many streams may join, so that a constant id cannot hide load. The
 * table is bounded by the number of streams; there is no reaper, entries go when their last stream
 * ends, whenever that is.
 *
 * Streams that come in on another worker join through {@link SharedRequests}, as guests.
 */
import type { SharedRequests } from './shared-requests.ts';

/** More filters of one pool in one chain have not been seen. */
const streamsPerRequestMax = 8;

/** One request in flight, shared by its streams. */
export interface RequestEntry {
  readonly key: string;
  readonly ticket: number;
  readonly destination: string;
  streams: number;
  responding: boolean;
  /** Generated tokens that any of its streams has seen reported, -1 unknown. */
  outputTokens: number;
  /** Another worker holds it and counts it. */
  readonly isGuest: boolean;
  /** Where other workers find it, -1 nowhere. */
  readonly slot: number;
}

const blank = {
  key: '',
  ticket: -1,
  destination: '',
  streams: 1,
  responding: false,
  outputTokens: -1,
  isGuest: false,
  slot: -1,
};

export class RequestRegistry {
  readonly #entries = new Map<string, RequestEntry>();
  readonly #shared: SharedRequests | undefined;

  /** Without `shared` only streams of this worker join each other. */
  constructor(shared?: SharedRequests) {
    this.#shared = shared;
  }

  get size(): number {
    return this.#entries.size;
  }

  /**
   * The request that a new stream belongs to, joined; undefined when it is a request of its own.
   * One that another worker holds has the ticket -1: the count is that worker's.
   */
  join(poolName: string, identity: string): RequestEntry | undefined {
    if (identity === '') return undefined;
    const key = keyOf(poolName, identity);
    const entry = this.#entries.get(key);
    if (entry === undefined) return this.#guest(key);
    if (entry.responding || entry.streams >= streamsPerRequestMax) return undefined;
    entry.streams++;
    return entry;
  }

  /** Registers a request that was just picked for, with its first stream. */
  add(poolName: string, identity: string, ticket: number, destination: string): RequestEntry {
    const key = identity === '' ? '' : keyOf(poolName, identity);
    // Another request under the same id keeps its place: this one just cannot be joined.
    const isNew = key !== '' && !this.#entries.has(key);
    const slot = isNew ? (this.#shared?.offer(key, destination) ?? -1) : -1;
    const entry = { ...blank, key, ticket, destination, slot };
    if (isNew) this.#entries.set(key, entry);
    return entry;
  }

  /** The request has a response: later streams with its id are other requests. */
  respond(entry: RequestEntry): void {
    if (entry.responding) return;
    entry.responding = true;
    this.#shared?.withdraw(entry.slot);
  }

  /** A stream of the request ended. True for the last one: the request itself has ended. */
  leave(entry: RequestEntry): boolean {
    entry.streams--;
    if (entry.streams > 0) return false;
    if (this.#entries.get(entry.key) === entry) this.#entries.delete(entry.key);
    // After a response the slot may be another request's already.
    if (!entry.responding) this.#shared?.withdraw(entry.slot);
    return true;
  }

  #guest(key: string): RequestEntry | undefined {
    const destination = this.#shared?.join(key);
    if (destination === undefined) return undefined;
    return { ...blank, destination, responding: true, isGuest: true };
  }
}

function keyOf(poolName: string, identity: string): string {
  return `${poolName}\n${identity}`;
}
