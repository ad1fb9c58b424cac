/**
 * Keeps the requests of a session together: 1 for the session's endpoint, 0 for the others.
 *
 * The endpoint follows from the session's key alone by rendezvous hashing (highest hash of key and
 * endpoint wins), so replicas agree without sharing state, and when an endpoint leaves only its
 * own sessions move. Abstains when the request has no key.
 */

import { hashText, mix32 } from '../../../prefix/hash-text.ts';
import type { PickContext, Scorer } from '../part.ts';

/** Where the session's key comes from unless configured: one header, in lower case. */
export const sessionHeaderDefault = 'x-session-id';

/** Index into `candidates` of the session's endpoint, -1 when the request has no key. */
export function sessionHome(
  context: PickContext,
  header: string,
  candidates: Int32Array,
  count: number,
): number {
  const key = context.request.header(header);
  if (key === undefined || key === '') return -1;
  const keyHash = hashText(key);
  let home = -1;
  let highest = -1;
  for (let i = 0; i < count; i++) {
    const hash = mix32(keyHash ^ context.table.identityHash[candidates[i]!]!) >>> 0;
    if (hash > highest) {
      highest = hash;
      home = i;
    }
  }
  return home;
}

export function sessionScorer(header: string): Scorer {
  return {
    score(context, candidates, count, scores) {
      const home = sessionHome(context, header, candidates, count);
      scores.fill(home < 0 ? Number.NaN : 0, 0, count);
      if (home >= 0) scores[home] = 1;
    },
  };
}
