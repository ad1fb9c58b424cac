/** Runs one scenario under every policy, each with the same seeds, and sums up. */
import type { SchedulingConfig } from '@leadsman/scheduling/scheduling-config';
import { defaultEngineParameters } from '@leadsman/testing';
import { arrivals } from './arrivals.ts';
import { createPolicy, type PolicyName, policyNames } from './policies.ts';
import { blockTokens } from './request.ts';
import type { Scenario } from './scenario.ts';
import { type RunResult, simulate } from './simulate.ts';
import { mean, percentile, sorted } from './statistics.ts';

export interface Figures {
  ttftP50Ms: number;
  ttftP99Ms: number;
  /** Of the requests that are not long; the same as above where none is. */
  shortTtftP99Ms: number;
  endToEndP50Ms: number;
  endToEndP99Ms: number;
  endToEndMeanMs: number;
  /** Requests at the busiest pod over the mean of all; the highest of the seeds. */
  busiestShare: number;
  /** Prompt tokens found in a prefix cache. */
  prefixHitRatio: number;
  preemptions: number;
  requests: number;
}

export interface Ratios {
  ttftP99: number;
  shortTtftP99: number;
  endToEndMean: number;
}

export interface ScenarioResult {
  scenario: string;
  kind: Scenario['kind'];
  pods: number;
  replicas: number;
  figures: Record<PolicyName, Figures>;
  /** Ours over each of the polling peers. */
  ratios: Record<'polling' | 'polling+in-flight', Ratios>;
}

export interface Length {
  seeds: readonly number[];
  /** Multiplies the scenario's own warm-up and measured time. */
  scale: number;
}

export function measure(
  scenario: Scenario,
  config: SchedulingConfig,
  { seeds, scale }: Length,
): ScenarioResult {
  const warmUpMs = scenario.warmUpMs * scale;
  const durationMs = warmUpMs + scenario.measuredMs * scale;
  const runs = new Map<PolicyName, RunResult[]>(policyNames.map((name) => [name, []]));
  for (const seed of seeds) {
    const requests = arrivals(scenario, seed, durationMs);
    for (const name of policyNames) {
      const options = {
        pods: scenario.pods,
        replicas: scenario.replicas,
        kvCapacityTokens: defaultEngineParameters.kvCapacityTokens,
        blockTokens,
        seed,
      };
      const policy = createPolicy(name, options, config);
      runs.get(name)?.push(simulate(scenario, requests, policy, warmUpMs, seed));
    }
  }
  const figures = Object.fromEntries(
    policyNames.map((name) => [name, summary(runs.get(name) ?? [])]),
  ) as Record<PolicyName, Figures>;
  return {
    scenario: scenario.name,
    kind: scenario.kind,
    pods: scenario.pods,
    replicas: scenario.replicas,
    figures,
    ratios: {
      polling: ratios(figures['expected-work'], figures.polling),
      'polling+in-flight': ratios(figures['expected-work'], figures['polling+in-flight']),
    },
  };
}

function summary(runs: readonly RunResult[]): Figures {
  const ttft = sorted(runs.map((run) => run.ttftMs));
  const short = sorted(runs.map((run) => run.ttftMs.filter((_, id) => run.isLong[id] === 0)));
  const endToEnd = sorted(runs.map((run) => run.endToEndMs));
  return {
    ttftP50Ms: percentile(ttft, 0.5),
    ttftP99Ms: percentile(ttft, 0.99),
    shortTtftP99Ms: percentile(short, 0.99),
    endToEndP50Ms: percentile(endToEnd, 0.5),
    endToEndP99Ms: percentile(endToEnd, 0.99),
    endToEndMeanMs: mean(endToEnd),
    busiestShare: Math.max(...runs.map((run) => run.busiestShare)),
    prefixHitRatio: mean(Float64Array.from(runs, (run) => run.prefixHitRatio)),
    preemptions: runs.reduce((sum, run) => sum + run.preemptions, 0),
    requests: ttft.length,
  };
}

function ratios(ours: Figures, peer: Figures): Ratios {
  return {
    ttftP99: ours.ttftP99Ms / peer.ttftP99Ms,
    shortTtftP99: ours.shortTtftP99Ms / peer.shortTtftP99Ms,
    endToEndMean: ours.endToEndMeanMs / peer.endToEndMeanMs,
  };
}
