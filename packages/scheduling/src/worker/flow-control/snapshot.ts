/** What people and metrics are told of a queue. */
import type { BandSnapshot, FlowControlSnapshot } from '../../shared/messages.ts';
import type { Band } from './band.ts';
import type { PoolFlowControl } from './pool-flow-control.ts';

/** Enough to see who floods. */
const flowsToldMax = 20;

export function flowControlSnapshot(
  control: PoolFlowControl | undefined,
  nowMs: number,
): FlowControlSnapshot | undefined {
  if (control === undefined) return undefined;
  return {
    isBlind: control.gate.isBlind,
    bands: control.queue.bands.map((band) => bandSnapshot(band, nowMs)),
  };
}

function bandSnapshot(band: Band, nowMs: number): BandSnapshot {
  const flows = band.waitingByFlow().sort((a, b) => b.requests - a.requests);
  const oldest = band.oldestWaiting?.request.arrivedAtMs ?? Number.NaN;
  return {
    priority: band.priority,
    requests: band.requests,
    bytes: band.bytes,
    tokens: band.tokens,
    oldestMs: nowMs - oldest,
    outcomes: Object.fromEntries(band.outcomes),
    flows: flows.slice(0, flowsToldMax),
  };
}
