/**
 * How far an endpoint's numbers can be believed: the one rule that the scheduler, the collector's
 * JSON and metrics, the sidecar's snapshot and the command-line tool all use.
 *
 * A number is only as good as its age: an endpoint that stopped reporting while it was idle would
 * otherwise keep its flattering numbers and draw every request.
 */
import { reason, reportFlag } from '@leadsman/wire';

/** Senders repeat all they know every second; two of those may be late before doubt is right. */
export const staleAfterMsDefault = 2_000;

/** Classes of trust, best first. A pick is made among the best class that has a member. */
export const trust = {
  /** Known, and measured within the limit. */
  fresh: 0,
  /** Too old, or never known: ranked by in-flight requests alone, the last resort. */
  stale: 1,
  /** The engine claims work while none of its token counters moves: probably wedged. */
  suspect: 2,
  /** It answers only after waking up. */
  sleeping: 3,
  /** Its port refuses connections: it answered never, or no longer. */
  unreachable: 4,
} as const;

export type Trust = (typeof trust)[keyof typeof trust];

export const trustClasses = 5;

/** The names of a state, as people, labels and JSON see it. `unknown`: stale, and never known. */
export type EndpointState = keyof typeof trust | 'unknown';

const names: readonly EndpointState[] = ['fresh', 'stale', 'suspect', 'sleeping', 'unreachable'];

/** Whether an endpoint's load is known at all: one of the two numbers is enough. NaN = unknown. */
export function isLoadKnown(runningRequests: number, waitingRequests: number): boolean {
  return !Number.isNaN(runningRequests) || !Number.isNaN(waitingRequests);
}

/**
 * The class of an endpoint. `flags` are bits of `reportFlag`, `scrapeReason` is why its latest scrape
 * gave no numbers (`reason`); `known` is {@link isLoadKnown}; `ageMs` is by the receiver's clock, NaN
 * when never measured. A refused connection is evidence at once, whatever was known before; sleeping
 * and suspicion outlive freshness: an old suspicion is still one.
 */
export function trustOf(
  flags: number,
  scrapeReason: number,
  known: boolean,
  ageMs: number,
  staleAfterMs: number,
): Trust {
  if (scrapeReason === reason.connect) return trust.unreachable;
  if ((flags & reportFlag.sleeping) !== 0) return trust.sleeping;
  if ((flags & reportFlag.suspect) !== 0) return trust.suspect;
  return known && ageMs <= staleAfterMs ? trust.fresh : trust.stale;
}

/** {@link trustOf} by name; `unknown` where the class is stale because nothing was ever known. */
export function stateOf(
  flags: number,
  scrapeReason: number,
  known: boolean,
  ageMs: number,
  staleAfterMs: number,
): EndpointState {
  const found = trustOf(flags, scrapeReason, known, ageMs, staleAfterMs);
  return found === trust.stale && !known ? 'unknown' : names[found]!;
}
