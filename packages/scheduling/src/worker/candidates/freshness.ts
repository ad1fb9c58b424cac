/**
 * How far an endpoint's numbers can be believed. A pick is made among the best class that has a
 * member: an endpoint that stopped reporting while it was idle would otherwise keep its
 * flattering numbers and draw every request.
 */
import { reportFlag } from '@leadsman/wire';

/** Classes, best first. */
export const trust = {
  /** Measured within the limit. */
  fresh: 0,
  /** Too old, or never known: ranked by in-flight requests alone, the last resort. */
  stale: 1,
  /** The engine claims work while none of its token counters moves: probably wedged. */
  suspect: 2,
  /** It answers only after waking up. */
  sleeping: 3,
} as const;

export type Trust = (typeof trust)[keyof typeof trust];

export const trustClasses = 4;

/** Senders repeat all they know every second; two of those may be late before doubt is right. */
export const staleAfterMsDefault = 2_000;

/**
 * The class of an endpoint. `ageMs` is by the receiver's clock, NaN when never measured; `known`
 * says whether its load was ever known.
 */
export function trustOf(flags: number, known: boolean, ageMs: number, staleAfterMs: number): Trust {
  if ((flags & reportFlag.sleeping) !== 0) return trust.sleeping;
  if ((flags & reportFlag.suspect) !== 0) return trust.suspect;
  return known && ageMs <= staleAfterMs ? trust.fresh : trust.stale;
}
