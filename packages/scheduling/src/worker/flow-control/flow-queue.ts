/**
 * The queue of one pool in one worker: bands by priority, the highest first, each with its floor.
 *
 * ```
 * add ──bounds──> band 10   flows: a ▮▮▮  b ▮      next: strict priority,
 *                 band 0    flows: c ▮▮            but a band whose floor has earned
 *                 band -1   flows: d ▮▮▮▮▮         its next request goes before
 * ```
 *
 * Every request that was accepted ends exactly once, by {@link HeldRequest.ended}. The bounds hold at
 * any moment: of each band, and of the pool. Cost per call: O(bands + log waiting).
 */
import type { WaitOutcome } from '../../scheduler.ts';
import { Band, type BandOptions } from './band.ts';
import type { Waiting } from './flow.ts';
import type { HeldRequest } from './held-request.ts';

/** Priorities come from objectives that admins make; more bands than this are a mistake. */
export const bandsMax = 64;

export interface FlowQueueOptions {
  /** Waiting requests and bytes of the pool in this worker. */
  requestsMax: number;
  bytesMax: number;
  /** Longest wait while the pool has no endpoint, ms; 0: none. */
  noEndpointTtlMs: number;
  /** Options of a band by its priority. */
  bandOptions(priority: number): BandOptions;
}

export class FlowQueue {
  #options: FlowQueueOptions;
  /** Ends of waiting by outcome, ever. */
  readonly outcomes = new Map<WaitOutcome, number>();
  requests = 0;
  bytes = 0;
  /** Highest priority first. */
  readonly #bands: Band[] = [];

  constructor(options: FlowQueueOptions) {
    this.#options = options;
  }

  /** Swaps the options. Who waits goes on waiting, also beyond a bound that is now lower. */
  configure(options: FlowQueueOptions): void {
    this.#options = options;
    for (const band of this.#bands) band.options = options.bandOptions(band.priority);
  }

  /** Bands that were ever used, highest first. */
  get bands(): readonly Band[] {
    return this.#bands;
  }

  /**
   * Takes a request in. `undefined`: there is no room; the request was told so. At the pool's bound
   * the newest request of the lowest band below its own makes room.
   */
  add(request: HeldRequest): Waiting | undefined {
    const band = this.#bandOf(request.priority);
    if (band?.hasRoom(request.bytes) !== true || !this.#makeRoom(request)) {
      this.refuse(request, 'rejected-saturated');
      return undefined;
    }
    this.requests++;
    this.bytes += request.bytes;
    return band.add(request);
  }

  /** Ends a request at the door, counted as if it had waited. */
  refuse(request: HeldRequest, outcome: WaitOutcome): void {
    this.#count(this.#bandOf(request.priority), outcome);
    request.ended(outcome);
  }

  /** The request whose turn it is; `undefined` when none waits. Changes nothing. */
  peek(): Waiting | undefined {
    let next: Waiting | undefined;
    for (const band of this.#bands) {
      const own = band.next;
      if (own === undefined) continue;
      // The lowest band whose floor is due: it has waited for all that stand above it.
      if (next === undefined || this.#isDue(band, own)) next = own;
    }
    return next;
  }

  /** The request leaves to be picked for. Its prompt is charged to its flow. */
  dispatch(waiting: Waiting): void {
    if (waiting.at < 0) return;
    const { promptTokens, priority } = waiting.request;
    for (const band of this.#bands) {
      if (band.requests === 0) continue;
      if (band.priority === priority) {
        band.floorCredit = Math.max(0, band.floorCredit - promptTokens);
      } else {
        band.floorCredit += promptTokens * band.options.floorShare;
      }
    }
    this.end(waiting, 'dispatched');
  }

  /** Ends one wait. Ignored when it is over already. */
  end(waiting: Waiting, outcome: WaitOutcome): void {
    if (waiting.at < 0) return;
    this.requests--;
    this.bytes -= waiting.request.bytes;
    const band = this.#find(waiting.request.priority);
    this.#count(band, outcome);
    band?.remove(waiting, outcome);
  }

  /** Ends all waits. */
  endAll(outcome: WaitOutcome): void {
    for (const band of this.#bands) {
      for (let waiting = band.newest; waiting !== undefined; waiting = band.newest) {
        this.end(waiting, outcome);
      }
    }
  }

  /**
   * Ends the waits that are too long. Call a few times a second; the cost is that of what ends.
   * `hasEndpoints`: whether the pool has any.
   */
  expire(nowMs: number, hasEndpoints: boolean): void {
    for (const band of this.#bands) {
      const { ttlMs } = band.options;
      for (let oldest = band.oldestWaiting; oldest !== undefined; oldest = band.oldestWaiting) {
        const waitedMs = nowMs - oldest.request.arrivedAtMs;
        if (!hasEndpoints && waitedMs >= this.#options.noEndpointTtlMs) {
          this.end(oldest, 'rejected-no-endpoints');
        } else if (waitedMs >= ttlMs) this.end(oldest, 'rejected-ttl-expired');
        else break;
      }
    }
  }

  /** A dispatched request ended after `tokens` beyond its prompt. Call once per dispatch. */
  ended(dispatched: Waiting, tokens: number): void {
    this.#find(dispatched.request.priority)?.ended(dispatched, tokens);
  }

  /** Other workers or replicas served a flow. */
  charge(priority: number, flowId: string, tokens: number): void {
    this.#find(priority)?.charge(flowId, tokens);
  }

  sweep(): void {
    for (const band of this.#bands) band.sweep();
  }

  #isDue(band: Band, next: Waiting): boolean {
    return band.options.floorShare > 0 && band.floorCredit >= next.request.promptTokens;
  }

  #makeRoom(request: HeldRequest): boolean {
    const { requestsMax, bytesMax } = this.#options;
    if (request.bytes > bytesMax) return false;
    while (this.requests >= requestsMax || this.bytes + request.bytes > bytesMax) {
      const lowest = this.#bands.findLast((band) => band.requests > 0);
      if (lowest === undefined || lowest.priority >= request.priority) return false;
      this.end(lowest.newest!, 'rejected-saturated');
    }
    return true;
  }

  #find(priority: number): Band | undefined {
    return this.#bands.find((band) => band.priority === priority);
  }

  #bandOf(priority: number): Band | undefined {
    const known = this.#find(priority);
    if (known !== undefined) return known;
    if (this.#bands.length >= bandsMax) return undefined;
    const band = new Band(priority, this.#options.bandOptions(priority));
    const at = this.#bands.findIndex((other) => other.priority < priority);
    this.#bands.splice(at < 0 ? this.#bands.length : at, 0, band);
    return band;
  }

  #count(band: Band | undefined, outcome: WaitOutcome): void {
    increment(this.outcomes, outcome);
    if (band !== undefined) increment(band.outcomes, outcome);
  }
}

function increment(counts: Map<WaitOutcome, number>, outcome: WaitOutcome): void {
  counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
}
