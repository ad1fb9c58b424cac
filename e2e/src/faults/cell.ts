/**
 * The fault table: what can be lost, how, and what that may cost. A cell is one part and one fault.
 *
 * The bound: no request fails but those that an engine held when it died, and at most 100 ms of
 * picks. Parts that no request passes through must cost none at all, and so must an orderly end.
 */

/**
 * `picker` is a picker's main process, `replica` the picker with all its processes: they differ
 * where a fault leaves processes alive.
 */
export const parts = [
  'sidecar',
  'agent',
  'nats',
  'collector',
  'picker',
  'replica',
  'worker',
  'engine',
] as const;
export type Part = (typeof parts)[number];

export const faults = ['SIGKILL', 'SIGSTOP', 'SIGTERM'] as const;
export type Fault = (typeof faults)[number];

export interface Cell {
  part: Part;
  fault: Fault;
}

export const requestsPerSecond = 100;
/** Several times what a request of the traffic takes. */
export const slowMs = 1_000;
const picksMs = 100;

export interface Outcome extends Cell {
  requests: number;
  failed: number;
  /** Of those failed, sent before the fault. */
  failedUnderWay: number;
  /** Requests inside of the engine when it was lost; 0 for other parts. */
  heldByEngine: number;
  /** Requests that did not fail and took more than {@link slowMs}: those that waited. */
  slow: number;
  /** Longest time of a request that did not fail, ms. */
  slowestMs: number;
  /** Oldest numbers that a picker's reader saw, ms; NaN when nobody could read. */
  oldestMs: number;
  /** As that, of numbers which the picker still took for fresh. */
  oldestFreshMs: number;
  /** From the return of the part (from the fault where it returns by itself) to all being whole, ms. */
  wholeMs: number;
  /** Kinds of failures with their counts. */
  failures: Readonly<Record<string, number>>;
}

/** All cells of the table, by the part, or those whose `part` or `part:fault` is in the filter. */
export function cellsOf(filter: readonly string[]): Cell[] {
  const all = parts
    .flatMap((part) => faults.map((fault) => ({ part, fault })))
    .filter(({ part, fault }) => part !== 'replica' || fault === 'SIGSTOP');
  const known = new Set(all.flatMap(({ part, fault }) => [part, `${part}:${fault}`]));
  for (const each of filter) {
    if (!known.has(each)) throw new RangeError(`no such cell: ${each}; PART or PART:FAULT`);
  }
  if (filter.length === 0) return all;
  return all.filter(
    ({ part, fault }) => filter.includes(part) || filter.includes(`${part}:${fault}`),
  );
}

/** Requests that may fail beside those an engine held. */
export function allowed({ part, fault }: Cell): number {
  const onTheWay =
    part === 'picker' || part === 'replica' || part === 'worker' || part === 'engine';
  if (!onTheWay || (part === 'picker' && fault === 'SIGTERM')) return 0;
  return (requestsPerSecond * picksMs) / 1_000;
}

/** Undefined: within the bound; else what exceeds it. */
export function breachOf(outcome: Outcome): string | undefined {
  const { failed, failedUnderWay, heldByEngine, requests, wholeMs } = outcome;
  if (requests === 0) return 'no request was sent';
  if (Number.isNaN(wholeMs)) return 'not whole again in time';
  const beyond = failed - Math.min(failedUnderWay, heldByEngine);
  const bound = allowed(outcome);
  return beyond <= bound ? undefined : `${beyond} requests failed, ${bound} may`;
}
