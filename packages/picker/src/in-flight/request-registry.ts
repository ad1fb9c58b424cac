/**
 * Which HTTP requests this worker has in flight, by `x-request-id`, so that a request for which a
 * gateway opens several streams (several routes or filters to one pool) is picked for and counted
 * once.
 *
 * A stream joins a request only while that request has not shown a response: filters of one
 * request run before its response comes, whereas a client that uses one id again and again soon
 * does so after it. And only so many streams may join, so that a constant id cannot hide load. The
 * table is bounded by the number of streams; there is no reaper, entries go when their last stream
 * ends, whenever that is.
 */

/** More filters of one pool in one chain have not been seen. */
const streamsPerRequestMax = 8;

/** One request in flight, shared by its streams. */
export interface RequestEntry {
  readonly key: string;
  readonly ticket: number;
  readonly destination: string;
  streams: number;
  responding: boolean;
}

export class RequestRegistry {
  readonly #entries = new Map<string, RequestEntry>();

  get size(): number {
    return this.#entries.size;
  }

  /** The request that a new stream belongs to, joined; undefined when it is a request of its own. */
  join(poolName: string, requestId: string): RequestEntry | undefined {
    if (requestId === '') return undefined;
    const entry = this.#entries.get(keyOf(poolName, requestId));
    if (entry === undefined || entry.responding || entry.streams >= streamsPerRequestMax) {
      return undefined;
    }
    entry.streams++;
    return entry;
  }

  /** Registers a request that was just picked for, with its first stream. */
  add(poolName: string, requestId: string, ticket: number, destination: string): RequestEntry {
    const key = requestId === '' ? '' : keyOf(poolName, requestId);
    const entry = { key, ticket, destination, streams: 1, responding: false };
    // Another request under the same id keeps its place: this one just cannot be joined.
    if (key !== '' && !this.#entries.has(key)) this.#entries.set(key, entry);
    return entry;
  }

  /** A stream of the request ended. True for the last one: the request itself has ended. */
  leave(entry: RequestEntry): boolean {
    entry.streams--;
    if (entry.streams > 0) return false;
    if (this.#entries.get(entry.key) === entry) this.#entries.delete(entry.key);
    return true;
  }
}

function keyOf(poolName: string, requestId: string): string {
  return `${poolName}\n${requestId}`;
}
