/** One cell of the trace benchmark: a trace at a load on a fleet, under every policy asked for. */
import type { SchedulingConfig } from '@leadsman/scheduling/scheduling-config';
import { createPolicy, type PolicyName } from '../policies.ts';
import { type RunResult, simulate } from '../simulate.ts';
import { mean, percentile, sorted } from '../statistics.ts';
import { blockGrain } from './block-grain.ts';
import { isCollapsed } from './collapse.ts';
import type { Demand } from './demand.ts';
import { overlay } from './overlay.ts';
import type { Trace } from './trace.ts';

export interface CellShape {
  readonly trace: string;
  readonly pods: number;
  readonly replicas: number;
  /** 0..; see demand.ts. */
  readonly utilisation: number;
  /** Tokens of KV per engine. */
  readonly kv: number;
  /** Measured from the start on, with empty caches. */
  readonly cold: boolean;
  readonly closed: boolean;
}

/** What a policy reached in a cell, the seeds pooled; times in ms. */
export interface Cell extends CellShape {
  readonly policy: PolicyName;
  readonly ttft_ms: { p50: number; p90: number; p99: number };
  /** Per token of an answer after its first. */
  readonly tpot_ms: { p99: number };
  readonly e2e_ms: { mean: number; p99: number };
  /** Prompt tokens found in a prefix cache. */
  readonly hit_ratio: number;
  /** Share of the requests with a first token within 2 s and 100 ms per token after it. */
  readonly goodput: number;
  /** Requests at the busiest pod over the mean of all; the highest of the seeds. */
  readonly busiest_share: number;
  /** Whether, under any seed, the queue still grew at the end. */
  readonly collapsed: boolean;
  readonly requests: number;
}

export interface CellLength {
  readonly seeds: readonly number[];
  /** Part of the usual number of requests, 0..1. */
  readonly scale: number;
}

const goodTtftMs = 2_000;
const goodTpotMs = 100;
/** So many requests per pod are measured, within these bounds of time. */
const requestsPerPod = 700;
const measuredMinMs = 120_000;
const measuredMaxMs = 1_800_000;

export function runCell(
  trace: Trace,
  demand: Demand,
  shape: CellShape,
  policies: readonly PolicyName[],
  config: SchedulingConfig,
  { seeds, scale }: CellLength,
): Cell[] {
  const { utilisation, kv } = shape;
  const wantedMs = (requestsPerPod * demand.meanMs) / utilisation;
  const measuredMs = scale * Math.min(measuredMaxMs, Math.max(measuredMinMs, wantedMs));
  const warmUpMs = shape.cold ? 0 : measuredMs / 2;
  const { tokens: blockTokens } = blockGrain(trace.blockTokens);
  const runs = new Map<PolicyName, Measured[]>(policies.map((name) => [name, []]));
  for (const seed of seeds) {
    const requests = overlay(trace, {
      workMs: utilisation * shape.pods * (warmUpMs + measuredMs),
      rowMs: demand.rowMs,
      durationMs: warmUpMs + measuredMs,
      replicas: shape.replicas,
      tokensMax: shape.kv,
      isClosed: shape.closed,
      seed,
    });
    const outputs = Float64Array.from(requests, (request) => request.outputTokens);
    for (const name of policies) {
      const { pods, replicas } = shape;
      const options = { pods, replicas, kvCapacityTokens: kv, blockTokens, seed };
      const policy = createPolicy(name, options, config);
      const fleet = { pods, kvCapacityTokens: kv, blockTokens };
      runs.get(name)!.push(measured(simulate(fleet, requests, policy, warmUpMs, seed), outputs));
    }
  }
  return policies.map((policy) => ({
    ...shape,
    policy,
    ...figures(runs.get(policy)!, shape.pods),
  }));
}

interface Measured {
  run: RunResult;
  tpotMs: Float64Array;
  good: number;
}

function measured(run: RunResult, outputs: Float64Array): Measured {
  const tpotMs = new Float64Array(outputs.length).fill(Number.NaN);
  let good = 0;
  for (let id = 0; id < outputs.length; id++) {
    if (Number.isNaN(run.ttftMs[id]!)) continue;
    const more = outputs[id]! - 1;
    if (more > 0) tpotMs[id] = (run.endToEndMs[id]! - run.ttftMs[id]!) / more;
    if (run.ttftMs[id]! <= goodTtftMs && !(tpotMs[id]! > goodTpotMs)) good++;
  }
  return { run, tpotMs, good };
}

function figures(seeds: readonly Measured[], pods: number): Omit<Cell, keyof CellShape | 'policy'> {
  const ttft = sorted(seeds.map(({ run }) => run.ttftMs));
  const endToEnd = sorted(seeds.map(({ run }) => run.endToEndMs));
  return {
    ttft_ms: {
      p50: percentile(ttft, 0.5),
      p90: percentile(ttft, 0.9),
      p99: percentile(ttft, 0.99),
    },
    tpot_ms: { p99: percentile(sorted(seeds.map(({ tpotMs }) => tpotMs)), 0.99) },
    e2e_ms: { mean: mean(endToEnd), p99: percentile(endToEnd, 0.99) },
    hit_ratio: mean(Float64Array.from(seeds, ({ run }) => run.prefixHitRatio)),
    goodput: seeds.reduce((sum, { good }) => sum + good, 0) / ttft.length,
    busiest_share: Math.max(...seeds.map(({ run }) => run.busiestShare)),
    collapsed: seeds.some(({ run }) => isCollapsed(run.waiting, pods)),
    requests: ttft.length,
  };
}
