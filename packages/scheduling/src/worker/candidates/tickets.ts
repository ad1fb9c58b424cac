/**
 * The requests of one worker that are in flight: what was added to the in-flight table for each,
 * so that exactly that is taken away again, once.
 *
 * A ticket is `generation × slots + slot`: a number, no object. A released slot gets a new
 * generation, so a ticket released twice, or long after, meets nothing. Slots are bounded by
 * `slotsMax`; beyond it requests are picked for but not counted (`overflowed`).
 */
import { InFlightField, type InFlightTable } from '../../shared/in-flight-table.ts';

/** 4,096 ext_proc streams are a busy worker; this is 256 times as many, and 26 MB if used. */
export const slotsMax = 1_048_576;
/** Keeps a leak of bogus estimates from overflowing the table's 32-bit sums. */
const tokensMax = 4_194_304;

const state = { free: 0, pending: 1, decoding: 2 } as const;

export class Tickets {
  /** Requests in flight. */
  open = 0;
  /** Requests that were not counted, as no slot was free. */
  overflowed = 0;
  readonly #inFlight: InFlightTable;
  #states = new Uint8Array(256);
  #pools = new Int32Array(256);
  #endpoints = new Int32Array(256);
  #uncached = new Int32Array(256);
  #prompts = new Int32Array(256);
  #generations = new Int32Array(256);
  #free = new Int32Array(256);
  #freeCount = 0;
  #used = 0;

  constructor(inFlight: InFlightTable) {
    this.#inFlight = inFlight;
  }

  /** Counts a request of a pool as sent to an endpoint. Returns its ticket, -1 when there is no room. */
  take(pool: number, endpoint: number, uncachedTokens: number, promptTokens: number): number {
    const slot = this.#takeSlot();
    if (slot < 0) {
      this.overflowed++;
      return -1;
    }
    const uncached = bounded(uncachedTokens);
    const prompt = bounded(promptTokens);
    this.#states[slot] = state.pending;
    this.#pools[slot] = pool;
    this.#endpoints[slot] = endpoint;
    this.#uncached[slot] = uncached;
    this.#prompts[slot] = prompt;
    this.#add(slot, 1);
    this.open++;
    return this.#generations[slot]! * slotsMax + slot;
  }

  /** The request's prompt is computed: it decodes from now on. `false`: it did so before. */
  firstToken(ticket: number): boolean {
    const slot = this.#slotOf(ticket);
    if (slot < 0 || this.#states[slot] !== state.pending) return false;
    const endpoint = this.#endpoints[slot]!;
    this.#states[slot] = state.decoding;
    this.#inFlight.add(endpoint, InFlightField.pendingTokens, -this.#uncached[slot]!);
    this.#inFlight.add(endpoint, InFlightField.decoding, 1);
    return true;
  }

  /** The request turned out to be at another endpoint: all it counts for moves there. */
  move(ticket: number, endpoint: number): void {
    const slot = this.#slotOf(ticket);
    if (slot < 0) return;
    this.#add(slot, -1);
    this.#endpoints[slot] = endpoint;
    this.#add(slot, 1);
  }

  /** Takes the request out of the table. `false`: the ticket is not in flight (any more). */
  release(ticket: number): boolean {
    const slot = this.#slotOf(ticket);
    if (slot < 0) return false;
    this.#add(slot, -1);
    this.#states[slot] = state.free;
    this.#generations[slot] = (this.#generations[slot]! + 1) & 0x7fff_ffff;
    this.#free[this.#freeCount++] = slot;
    this.open--;
    return true;
  }

  /** The in-flight index a ticket counts at, -1 when it is not in flight (any more). */
  endpointOf(ticket: number): number {
    const slot = this.#slotOf(ticket);
    return slot < 0 ? -1 : this.#endpoints[slot]!;
  }

  /** The number of the pool a ticket was taken for, -1 when it is not in flight (any more). */
  poolOf(ticket: number): number {
    const slot = this.#slotOf(ticket);
    return slot < 0 ? -1 : this.#pools[slot]!;
  }

  /** Adds all that a live request counts for to its endpoint (1), or takes it away (-1). */
  #add(slot: number, sign: 1 | -1): void {
    const endpoint = this.#endpoints[slot]!;
    if (this.#states[slot] === state.pending) {
      this.#inFlight.add(endpoint, InFlightField.pendingTokens, sign * this.#uncached[slot]!);
    } else this.#inFlight.add(endpoint, InFlightField.decoding, sign);
    this.#inFlight.add(endpoint, InFlightField.promptTokens, sign * this.#prompts[slot]!);
    this.#inFlight.add(endpoint, InFlightField.requests, sign);
  }

  #slotOf(ticket: number): number {
    if (!(ticket >= 0)) return -1;
    const slot = ticket % slotsMax;
    if (slot >= this.#used || this.#states[slot] === state.free) return -1;
    return this.#generations[slot] === Math.floor(ticket / slotsMax) ? slot : -1;
  }

  #takeSlot(): number {
    if (this.#freeCount > 0) return this.#free[--this.#freeCount]!;
    if (this.#used >= slotsMax) return -1;
    if (this.#used >= this.#states.length) this.#grow();
    return this.#used++;
  }

  #grow(): void {
    const size = Math.min(slotsMax, this.#states.length * 2);
    const states = new Uint8Array(size);
    states.set(this.#states);
    this.#states = states;
    this.#pools = grown(this.#pools, size);
    this.#endpoints = grown(this.#endpoints, size);
    this.#uncached = grown(this.#uncached, size);
    this.#prompts = grown(this.#prompts, size);
    this.#generations = grown(this.#generations, size);
    this.#free = grown(this.#free, size);
  }
}

function bounded(tokens: number): number {
  return tokens > 0 ? Math.min(tokensMax, Math.round(tokens)) : 0;
}

/** A larger copy of a column. */
export function grown(old: Int32Array<ArrayBuffer>, size: number): Int32Array<ArrayBuffer> {
  const next = new Int32Array(size);
  next.set(old);
  return next;
}
