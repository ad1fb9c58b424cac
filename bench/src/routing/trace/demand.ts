/**
 * What a trace asks of engines, to state a load as a utilisation: the time its requests take of
 * pods with full batches, when no shared block is ever computed twice. A picker that scatters what
 * is shared needs more, so that 80 % can be far above 100 % for it.
 */
import { defaultEngineParameters, type EngineParameters } from '@leadsman/testing';
import { blockIds, type Trace } from './trace.ts';

export interface Demand {
  /** Of all rows. */
  readonly computedTokens: number;
  readonly outputTokens: number;
  readonly heldTokens: number;
  readonly rows: number;
  readonly spanMs: number;
}

export function demandOf({ rows, blockTokens, spanMs }: Trace): Demand {
  const seen = new Set<number>();
  let computedTokens = 0;
  let outputTokens = 0;
  let heldTokens = 0;
  for (const row of rows) {
    let hits = 0;
    let isHit = true;
    for (const id of blockIds(row, blockTokens)) {
      if (isHit && seen.has(id)) hits++;
      else isHit = false;
      seen.add(id);
    }
    computedTokens += Math.max(1, row.inputTokens - hits * blockTokens);
    outputTokens += row.outputTokens;
    heldTokens += row.inputTokens + row.outputTokens / 2;
  }
  return { computedTokens, outputTokens, heldTokens, rows: rows.length, spanMs };
}

/** Part of a pod's KV cache that running requests fill in a full batch. */
const kvFilled = 0.9;

/** Time that a mean request of the trace takes of a pod of speed 1, ms. */
export function podMsPerRow(
  demand: Demand,
  kvCapacityTokens: number,
  engine: EngineParameters = defaultEngineParameters,
): number {
  const held = demand.heldTokens / demand.rows;
  const batch = Math.max(1, Math.min(engine.runningMax, (kvFilled * kvCapacityTokens) / held));
  const msPerOutputToken =
    engine.stepBaseMs / batch +
    engine.stepPerSequenceMs +
    (engine.stepPerKvKilotokenMs * held) / 1000;
  const prefillMs = (1000 * demand.computedTokens) / engine.prefillTokensPerSecond;
  return (prefillMs + demand.outputTokens * msPerOutputToken) / demand.rows;
}
