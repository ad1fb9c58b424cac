import { configForStrategy } from '@leadsman/scheduling/hub/strategy-file/strategy-file';
import { describe, expect, it } from 'vitest';
import { arrivals } from './arrivals.ts';
import { measure } from './measure.ts';
import { createPolicy, policyNames } from './policies.ts';
import type { Policy } from './policy.ts';
import { podMsPerRequest, type Scenario, scenarios } from './scenario.ts';
import { simulate } from './simulate.ts';

const config = await configForStrategy('expected-work');

function scenarioOf(name: string): Scenario {
  const found = scenarios.find((scenario) => scenario.name === name);
  if (found === undefined) throw new Error(`no scenario ${name}`);
  return found;
}

describe('arrivals', () => {
  it.each(['chat 70 %', 'bursts ×5', 'half the pods 2× faster'])(
    'come at the stated load: %s',
    (name) => {
      const scenario = scenarioOf(name);
      const durationMs = 300_000;
      let speed = 0;
      for (let pod = 0; pod < scenario.pods; pod++) speed += scenario.speeds?.(pod) ?? 1;
      const perMs = arrivals(scenario, 1, durationMs).length / durationMs;
      const utilisation = (perMs * podMsPerRequest(scenario.traffic)) / speed;
      expect(utilisation / scenario.utilisation).toBeGreaterThan(0.9);
      expect(utilisation / scenario.utilisation).toBeLessThan(1.1);
    },
  );

  it('are the same again under a seed, in order of time, within the engine limits', () => {
    const scenario = scenarioOf('long prompts 3 %');
    const first = arrivals(scenario, 5, 20_000);
    expect(arrivals(scenario, 5, 20_000)).toEqual(first);
    expect(arrivals(scenario, 6, 20_000)).not.toEqual(first);
    for (const [i, request] of first.entries()) {
      expect(request.id).toBe(i);
      expect(request.atMs).toBeGreaterThanOrEqual(first[i - 1]?.atMs ?? 0);
      expect(request.promptTokens + request.outputTokens).toBeLessThan(40_000);
    }
  });
});

describe('a ramp', () => {
  it('comes faster and faster, with texts, questions and answers of one length', () => {
    const requests = arrivals(scenarioOf('published shape, 3 to 60/s'), 2, 120_000);
    const early = requests.filter(({ atMs }) => atMs < 20_000).length;
    const late = requests.filter(({ atMs }) => atMs >= 100_000).length;
    expect(requests.length / (31.5 * 120)).toBeGreaterThan(0.9);
    expect(requests.length / (31.5 * 120)).toBeLessThan(1.1);
    expect(late / early).toBeGreaterThan(4);
    expect(new Set(requests.map(({ outputTokens }) => outputTokens))).toEqual(new Set([1_000]));
    expect(new Set(requests.map(({ blocks }) => blocks[0])).size).toBe(150);
  });
});

describe('a run', () => {
  it('tells the policy of each request once: sent, first token, end', () => {
    const scenario = scenarioOf('chat 90 %');
    const requests = arrivals(scenario, 1, 5_000);
    const said = requests.map(() => '');
    const policy: Policy = {
      tick: () => undefined,
      gauges: () => undefined,
      pick: (request) => {
        said[request.id] += 'pick ';
        return request.id % scenario.pods;
      },
      firstToken: (request) => {
        said[request.id] += 'first ';
      },
      finished: (request) => {
        said[request.id] += 'end';
      },
    };
    const result = simulate(scenario, requests, policy, 0, 1);
    expect(new Set(said)).toEqual(new Set(['pick first end']));
    expect(result.ttftMs.every((ms, id) => ms > 0 && ms <= result.endToEndMs[id]!)).toBe(true);
  });

  it('shows gauges no younger than the scenario says', () => {
    const scenario = { ...scenarioOf('chat 70 %'), gaugeDelayMs: 200 };
    const options = { pods: 8, replicas: 1, kvCapacityTokens: 400_000, blockTokens: 64, seed: 1 };
    const policy = createPolicy('round-robin', options, config);
    let samples = 0;
    policy.gauges = (_pod, _gauges, measuredAtMs, nowMs) => {
      samples++;
      expect(nowMs - measuredAtMs).toBeGreaterThanOrEqual(200);
    };
    simulate(scenario, arrivals(scenario, 1, 2_000), policy, 0, 1);
    expect(samples).toBeGreaterThan(100);
  });

  it('repeats exactly under its seeds, for every policy', () => {
    const scenario = scenarioOf('shared prefixes 90 %');
    const length = { seeds: [3], scale: 0.02 };
    const first = measure(scenario, config, length);
    expect(measure(scenario, config, length)).toEqual(first);
    for (const name of policyNames) expect(first.figures[name].requests).toBeGreaterThan(10);
  });
});
