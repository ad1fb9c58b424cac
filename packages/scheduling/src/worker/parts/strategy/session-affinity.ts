/**
 * The session's endpoint (see scorer/session.ts) as long as it bears it: with more than
 * 1.5 × the mean of expected requests plus 4 it is passed over, as are requests without a session
 * key, and the least load wins (after Mirrokni, Thorup and Zadimoghaddam, "Consistent hashing with
 * bounded loads"; the 4 keeps an idle pool from breaking affinity over one request).
 */
import { expectedRequests } from '../expected-load.ts';
import type { PickContext, Strategy } from '../part.ts';
import { sessionHome } from '../scorer/session.ts';
import { leastLoadStrategy } from './least-load.ts';

const loadFactor = 1.5;
const loadSlack = 4;

export function sessionAffinityStrategy(header: string): Strategy {
  const leastLoad = leastLoadStrategy();
  return {
    choose(context, candidates, count) {
      const home = sessionHome(context, header, candidates, count);
      if (home >= 0 && bears(context, candidates, count, home)) return home;
      return leastLoad.choose(context, candidates, count);
    },
  };
}

function bears(context: PickContext, candidates: Int32Array, count: number, home: number): boolean {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += expectedRequests(context, candidates[i]!);
  const bound = (loadFactor * sum) / count + loadSlack;
  return expectedRequests(context, candidates[home]!) <= bound;
}
