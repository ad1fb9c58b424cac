/**
 * Gives every endpoint its position in the shared in-flight tables.
 *
 * An endpoint is (pod, port); a pod that belongs to two pools is one endpoint with one position,
 * as its load is one. A position is free again when no pool names its endpoint, no request sent
 * to it is in flight, and long enough has passed for every worker to have swapped its list: until
 * then a late release or a late pick must not touch another pod's count.
 */

import type { Endpoint, Member } from '@leadsman/scheduling/endpoint';
import { formatHostPort } from '@leadsman/wire';

/**
 * How long (ms) a position rests. Workers swap lists within milliseconds; a worker stalled for
 * longer than this has lost its connections anyway.
 */
export const indexRestMs = 10_000;

interface Entry {
  index: number;
  pools: Set<string>;
  /** When the last pool let go of it, on the caller's clock; Infinity while in use. */
  leftAtMs: number;
}

export class EndpointIndex {
  readonly #endpointsMax: number;
  readonly #requestsInFlight: (index: number) => number;
  readonly #entries = new Map<string, Entry>();
  /** The keys of each pool's latest list: an update costs its own pool only. */
  readonly #keysOfPool = new Map<string, Set<string>>();
  readonly #free: number[] = [];
  #next = 0;
  #dropped = 0;

  /** `requestsInFlight` tells how many requests of a position have not ended. */
  constructor(endpointsMax: number, requestsInFlight: (index: number) => number) {
    this.#endpointsMax = endpointsMax;
    this.#requestsInFlight = requestsInFlight;
  }

  /** Members that found no free position, since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Positions in use or resting. */
  get used(): number {
    return this.#entries.size;
  }

  /**
   * The endpoints of a pool's members, in their order. Members of the pool's previous list that
   * are no longer there are let go; members beyond the table's size are left out and counted.
   */
  assign(pool: string, members: readonly Member[], nowMs: number): Endpoint[] {
    const kept = new Set<string>();
    const endpoints: Endpoint[] = [];
    for (const member of members) {
      const key = `${member.podKey}/${member.port}`;
      const entry = this.#entries.get(key) ?? this.#create(key, nowMs);
      if (entry === undefined) {
        this.#dropped++;
        continue;
      }
      entry.pools.add(pool);
      entry.leftAtMs = Number.POSITIVE_INFINITY;
      kept.add(key);
      endpoints.push({
        ...member,
        index: entry.index,
        destination: formatHostPort(member.address, member.port),
      });
    }
    this.#release(pool, kept, nowMs);
    return endpoints;
  }

  /** The pool is gone: lets go of all its endpoints. */
  removePool(pool: string, nowMs: number): void {
    this.#release(pool, new Set(), nowMs);
  }

  #release(pool: string, kept: Set<string>, nowMs: number): void {
    for (const key of this.#keysOfPool.get(pool) ?? []) {
      const entry = this.#entries.get(key);
      if (kept.has(key) || entry === undefined) continue;
      entry.pools.delete(pool);
      if (entry.pools.size === 0) entry.leftAtMs = nowMs;
    }
    if (kept.size === 0) this.#keysOfPool.delete(pool);
    else this.#keysOfPool.set(pool, kept);
  }

  #create(key: string, nowMs: number): Entry | undefined {
    let index = this.#free.pop();
    if (index === undefined && this.#next < this.#endpointsMax) index = this.#next++;
    if (index === undefined) {
      this.#reclaim(nowMs);
      index = this.#free.pop();
    }
    if (index === undefined) return undefined;
    const entry: Entry = { index, pools: new Set(), leftAtMs: Number.POSITIVE_INFINITY };
    this.#entries.set(key, entry);
    return entry;
  }

  #reclaim(nowMs: number): void {
    for (const [key, entry] of this.#entries) {
      if (nowMs - entry.leftAtMs < indexRestMs) continue;
      if (this.#requestsInFlight(entry.index) !== 0) continue;
      this.#entries.delete(key);
      this.#free.push(entry.index);
    }
  }
}
