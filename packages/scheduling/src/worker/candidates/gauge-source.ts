/**
 * Where a worker's candidate tables get their numbers from: the fleet view in production (its
 * `ViewReader` has this shape), a model of a fleet in the routing benchmark.
 *
 * Times are the receiver's monotonic clock in ms, the same that requests carry.
 */
import type { Attributes } from '@leadsman/wire';

export interface GaugeSource {
  /** Slots that changed at the last refresh; the first {@link changedCount} entries count. */
  readonly changed: Int32Array;
  readonly changedCount: number;
  /** Slots ever used; no slot is at or above. */
  readonly slots: number;
  /** Takes over what changed; `true` when slots appeared, left, or changed their attributes. */
  refresh(): boolean;
  /** Whether slots appeared or left at the last refresh. */
  readonly identitiesChanged: boolean;
  /** -1 when nothing is known of the endpoint. */
  slotOf(podKey: string, port: number): number;
  isUsed(slot: number): boolean;
  /** One number of a used slot by its position in `metric`; NaN = unknown. */
  numberOf(slot: number, metric: number): number;
  measuredAtMs(slot: number): number;
  /** Whether the slot's report states the address at `words[at…at+3]`, 16 bytes as on the wire. */
  isAt(slot: number, words: Int32Array, at: number): boolean;
  /** Why the latest scrape gave no numbers, one of `reason`. */
  reason(slot: number): number;
  /** Bits of `reportFlag`. */
  flags(slot: number): number;
  attributes(slot: number): Attributes | undefined;
}
