/**
 * What a reader may believe of a slot. A number is only as good as its age: a slot that stopped
 * reporting while idle must not look like the best one.
 */
import { metric, reportFlag } from '@leadsman/wire';
import type { ViewReader } from './reader.ts';

/** Numbers older than this are stale by default: a sender repeats itself at least each second. */
export const staleAfterMsDefault = 2_000;

export const endpointState = {
  /** Numbers younger than the limit. */
  fresh: 'fresh',
  /** Known once, but too old to rank by. */
  stale: 'stale',
  /** Load never known: not scraped yet, or no series of it. */
  unknown: 'unknown',
  /** The engine claims work, but none of its token counters moves. */
  suspect: 'suspect',
} as const;

export type EndpointState = (typeof endpointState)[keyof typeof endpointState];

/**
 * The state of a used slot at `nowMs` (`monotonicMs`). Unknown when neither running nor waiting
 * requests are known; suspect before stale, as old suspicion is still suspicion.
 */
export function stateOf(
  reader: ViewReader,
  slot: number,
  nowMs: number,
  staleAfterMs: number,
): EndpointState {
  const running = reader.numberOf(slot, metric.runningRequests);
  const waiting = reader.numberOf(slot, metric.waitingRequests);
  if (Number.isNaN(running) && Number.isNaN(waiting)) return endpointState.unknown;
  if ((reader.flags(slot) & reportFlag.suspect) !== 0) return endpointState.suspect;
  if (nowMs - reader.measuredAtMs(slot) > staleAfterMs) return endpointState.stale;
  return endpointState.fresh;
}
