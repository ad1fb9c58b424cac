/** Waiting requests of all workers together, by pool and band. */
import type { BandSnapshot, FlowControlSnapshot, PoolSnapshot } from '../shared/messages.ts';

/** Adds up what each worker has of one pool; `undefined` where flow control is off in all. */
export function waitingOf(pools: Iterable<PoolSnapshot>): FlowControlSnapshot | undefined {
  let sum: FlowControlSnapshot | undefined;
  for (const { flowControl } of pools) {
    if (flowControl === undefined) continue;
    sum ??= { isBlind: true, bands: [] };
    sum.isBlind &&= flowControl.isBlind;
    for (const band of flowControl.bands) addBand(sum.bands, band);
  }
  sum?.bands.sort((a, b) => b.priority - a.priority);
  return sum;
}

function addBand(bands: BandSnapshot[], band: BandSnapshot): void {
  const at = bands.findIndex(({ priority }) => priority === band.priority);
  if (at < 0) {
    bands.push(structuredClone(band));
    return;
  }
  const sum = bands[at]!;
  sum.requests += band.requests;
  sum.bytes += band.bytes;
  sum.tokens += band.tokens;
  sum.oldestMs = oldest(sum.oldestMs, band.oldestMs);
  for (const [outcome, count] of Object.entries(band.outcomes)) {
    sum.outcomes[outcome] = (sum.outcomes[outcome] ?? 0) + count;
  }
  for (const { flow, requests } of band.flows) {
    const known = sum.flows.find((one) => one.flow === flow);
    if (known === undefined) sum.flows.push({ flow, requests });
    else known.requests += requests;
  }
  sum.flows.sort((a, b) => b.requests - a.requests);
}

/** NaN is nobody. */
function oldest(one: number, other: number): number {
  if (Number.isNaN(one)) return other;
  return Number.isNaN(other) ? one : Math.max(one, other);
}
