/**
 * What one other replica last said of its requests in flight, and whether that is believed.
 *
 * Its numbers are added to the shared remote words while it is in time, and taken out again as a
 * whole when it is late, silent or gone; so workers never need to know of single replicas.
 */
import { inFlightFields } from '../../shared/in-flight-table.ts';
import type { RemoteWords } from '../../shared/remote-words.ts';
import { ShareDelay } from './share-delay.ts';

/** Back in time for this long before its numbers count again: no flapping at the limit. */
const probationMs = 1_000;

export class RemoteReplica {
  readonly id: Uint8Array;
  delay = new ShareDelay();
  epoch = 0;
  seq = 0;
  /** Its stamp of the latest message, to be echoed. */
  sentAtMs = 0;
  receivedAtMs = Number.NEGATIVE_INFINITY;
  /** Requests it has in flight, all endpoints. */
  requests = 0;
  readonly #words: RemoteWords;
  #row = new Int32Array(0);
  #stamps = new Int32Array(0);
  #stamp = 0;
  #isCounted = false;
  #lateAtMs = Number.NEGATIVE_INFINITY;

  constructor(id: Uint8Array, words: RemoteWords) {
    this.id = id;
    this.#words = words;
  }

  get isCounted(): boolean {
    return this.#isCounted;
  }

  /** Begins a message with absolute loads. */
  beginLoads(): void {
    // The stamps are 32 bits wide, and a replica may live for years.
    this.#stamp = (this.#stamp + 1) | 0;
  }

  /** Sets one number of an endpoint. */
  set(index: number, field: number, value: number): void {
    if (index >= this.#stamps.length) this.#grow(index + 1);
    this.#stamps[index] = this.#stamp;
    const at = index * inFlightFields + field;
    const change = value - this.#row[at]!;
    if (change === 0) return;
    this.#row[at] = value;
    if (field === 0) this.requests += change;
    if (this.#isCounted) this.#words.add(index, field, change);
  }

  /** Ends a keyframe: endpoints it did not name have no requests. */
  endKeyframe(): void {
    for (let index = 0; index < this.#stamps.length; index++) {
      if (this.#stamps[index] !== this.#stamp) this.forget(index);
    }
  }

  /** Drops what was said of an endpoint. */
  forget(index: number): void {
    if (index >= this.#stamps.length) return;
    for (let field = 0; field < inFlightFields; field++) {
      const at = index * inFlightFields + field;
      const value = this.#row[at]!;
      if (value === 0) continue;
      this.#row[at] = 0;
      if (field === 0) this.requests -= value;
      if (this.#isCounted) this.#words.add(index, field, -value);
    }
  }

  /**
   * The replica started anew: nothing it said before counts. Its clock is another one as well, so
   * the least offset of the former would make every message of the new one look late.
   */
  reset(epoch: number): void {
    this.delay = new ShareDelay();
    for (let index = 0; index < this.#stamps.length; index++) this.forget(index);
    this.epoch = epoch;
    this.seq = 0;
  }

  /** Delay of its messages, counting the silence since the last one while it has requests. */
  delayMs(nowMs: number, shareIntervalMs: number): number {
    const silenceMs = this.requests > 0 ? nowMs - this.receivedAtMs - shareIntervalMs : 0;
    return Math.max(this.delay.delayMs, silenceMs);
  }

  /** Decides whether its numbers count from now on. */
  judge(nowMs: number, shareIntervalMs: number, delayMsMax: number): void {
    if (this.delayMs(nowMs, shareIntervalMs) > delayMsMax) {
      this.#lateAtMs = nowMs;
      this.#count(false);
    } else if (nowMs - this.#lateAtMs > probationMs) {
      this.#count(true);
    }
  }

  /** Takes its numbers out for good. */
  leave(): void {
    this.#count(false);
  }

  #count(isCounted: boolean): void {
    if (isCounted === this.#isCounted) return;
    this.#isCounted = isCounted;
    const sign = isCounted ? 1 : -1;
    for (let at = 0; at < this.#row.length; at++) {
      const value = this.#row[at]!;
      if (value === 0) continue;
      this.#words.add(Math.floor(at / inFlightFields), at % inFlightFields, sign * value);
    }
  }

  #grow(width: number): void {
    const size = 2 ** Math.ceil(Math.log2(width));
    const row = new Int32Array(size * inFlightFields);
    row.set(this.#row);
    this.#row = row;
    const stamps = new Int32Array(size);
    stamps.set(this.#stamps);
    this.#stamps = stamps;
  }
}
