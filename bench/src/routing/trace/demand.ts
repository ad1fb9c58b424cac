/**
 * What a trace asks of engines, to state a load as a utilisation: the time that its requests take
 * of pods with full batches, where blocks are found again as in one cache as large as all of the
 * fleet's. A picker that scatters what is shared needs more: 80 % can be far above 100 % for it.
 */
import { defaultEngineParameters, type EngineParameters } from '@leadsman/testing';
import { blockIds, type Trace, type TraceRow } from './trace.ts';

/** Part of the KV cache that running requests hold in a full batch; the rest is for reuse. */
const runningShare = 0.5;
/** The hits depend on the load and the load on the hits: so often one is taken from the other. */
const rounds = 2;

export interface Demand {
  /** Pod time that a request takes at full utilisation. */
  rowMs(row: TraceRow): number;
  /** The same of the mean request. */
  readonly meanMs: number;
}

export function demandOf(
  { rows, blockTokens, spanMs }: Trace,
  kvCapacityTokens: number,
  utilisation: number,
  engine: EngineParameters = defaultEngineParameters,
): Demand {
  let input = 0;
  let output = 0;
  for (const row of rows) {
    input += row.inputTokens / rows.length;
    output += row.outputTokens / rows.length;
  }
  const held = input + output / 2;
  const batch = Math.min(engine.runningMax, (runningShare * kvCapacityTokens) / held);
  const msPerOutput =
    engine.stepBaseMs / Math.max(1, batch) +
    engine.stepPerSequenceMs +
    (engine.stepPerKvKilotokenMs * held) / 1000;
  let cacheTokens = Number.POSITIVE_INFINITY;
  let msPerInput = 0;
  let meanMs = 0;
  for (let round = 0; round <= rounds; round++) {
    const computedRatio = computedTokens(rows, blockTokens, cacheTokens) / input;
    msPerInput = (1000 * computedRatio) / engine.prefillTokensPerSecond;
    meanMs = input * msPerInput + output * msPerOutput;
    // A copy's part of the fleet's cache, whatever the number of pods.
    cacheTokens = (kvCapacityTokens * rows.length * meanMs) / (spanMs * utilisation);
  }
  const rowMs = (row: TraceRow) => row.inputTokens * msPerInput + row.outputTokens * msPerOutput;
  return { rowMs, meanMs };
}

/** Prompt tokens per request that one least-recently-used cache of this size does not have. */
export function computedTokens(
  rows: readonly TraceRow[],
  blockTokens: number,
  cacheTokens: number,
): number {
  const blocksMax = Math.floor(cacheTokens / blockTokens);
  const cached = new Map<number, true>();
  let computed = 0;
  for (const row of rows) {
    const ids = blockIds(row, blockTokens);
    let hits = 0;
    while (hits < ids.length && cached.has(ids[hits]!)) hits++;
    for (let i = ids.length - 1; i >= 0; i--) {
      cached.delete(ids[i]!);
      cached.set(ids[i]!, true);
    }
    for (const oldest of cached.keys()) {
      if (cached.size <= blocksMax) break;
      cached.delete(oldest);
    }
    computed += Math.max(1, row.inputTokens - hits * blockTokens);
  }
  return computed / rows.length;
}
