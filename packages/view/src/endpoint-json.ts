/**
 * A slot as JSON, for people, autoscalers and tools. Unknown is `null`, never 0. Control plane
 * only: it allocates freely.
 */
import {
  formatHostPort,
  type MetricName,
  metric,
  metricNames,
  reasonName,
  reportFlag,
} from '@leadsman/wire';
import type { ViewReader } from './reader.ts';
import { type EndpointState, isLoadKnown, stateOf } from './trust.ts';

export type EndpointJson = {
  podUid: string;
  podName: string | null;
  namespace: string | null;
  nodeName: string | null;
  address: string;
  port: number;
  /** `address:port`, IPv6 in brackets. */
  destination: string;
  rank: number;
  state: EndpointState;
  /** `ok`, or why the latest scrape failed. */
  reason: string;
  sleeping: boolean;
  suspect: boolean;
  /** `sidecar` or `agent`: who scrapes. */
  reporter: string | null;
  /** Since the numbers were scraped; `null` while none are known. */
  ageMs: number | null;
  /** Since the newest report came. */
  receivedMsAgo: number;
  engine: string | null;
  engineVersion: string | null;
  engineRanks: number;
  models: readonly string[];
  loraRunning: readonly string[] | null;
  loraWaiting: readonly string[] | null;
} & Record<MetricName, number | null>;

/** The JSON of a used slot at `nowMs` (`monotonicMs`). */
export function endpointJson(
  reader: ViewReader,
  slot: number,
  nowMs: number,
  staleAfterMs: number,
): EndpointJson {
  const attributes = reader.attributes(slot);
  const flags = reader.flags(slot);
  const address = reader.address(slot);
  const port = reader.port(slot);
  const numbers = {} as Record<MetricName, number | null>;
  for (const [i, name] of metricNames.entries()) {
    const value = reader.numberOf(slot, i);
    numbers[name] = Number.isFinite(value) ? value : null;
  }
  const state = slotState(reader, slot, nowMs, staleAfterMs);
  return {
    podUid: reader.podKey(slot),
    podName: attributes?.podName || null,
    namespace: attributes?.namespace || null,
    nodeName: attributes?.nodeName || null,
    address,
    port,
    destination: formatHostPort(address, port),
    rank: reader.rank(slot),
    state,
    reason: reasonName(reader.reason(slot)),
    sleeping: (flags & reportFlag.sleeping) !== 0,
    suspect: (flags & reportFlag.suspect) !== 0,
    reporter: attributes?.reporter || null,
    ageMs: state === 'unknown' ? null : sinceMs(nowMs, reader.measuredAtMs(slot)),
    receivedMsAgo: sinceMs(nowMs, reader.receivedAtMs(slot)),
    engine: attributes?.engine || null,
    engineVersion: attributes?.engineVersion || null,
    engineRanks: reader.engineRanks(slot),
    models: attributes?.models ?? [],
    loraRunning: attributes?.loraRunning ?? null,
    loraWaiting: attributes?.loraWaiting ?? null,
    ...numbers,
  };
}

/** The state of a used slot at `nowMs` (`monotonicMs`), by the rule of `trust.ts`. */
export function slotState(
  reader: ViewReader,
  slot: number,
  nowMs: number,
  staleAfterMs: number,
): EndpointState {
  const known = isLoadKnown(
    reader.numberOf(slot, metric.runningRequests),
    reader.numberOf(slot, metric.waitingRequests),
  );
  const ageMs = nowMs - reader.measuredAtMs(slot);
  return stateOf(reader.flags(slot), reader.reason(slot), known, ageMs, staleAfterMs);
}

/** Whole ms since `atMs`; never negative. */
function sinceMs(nowMs: number, atMs: number): number {
  return Math.max(0, Math.round(nowMs - atMs));
}
