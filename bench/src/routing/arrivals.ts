/**
 * The requests of a scenario under a seed. Times, sizes and texts come from generators of their
 * own, so that one does not shift the other.
 */
import { SeededRandom } from '@leadsman/testing';
import { blockTokens, type RoutingRequest } from './request.ts';
import {
  longMax,
  longMin,
  podMsPerRequest,
  type Scenario,
  sharedMax,
  sharedMin,
  type Traffic,
} from './scenario.ts';

/** Bursts take a tenth of the time and last this long on average. */
const burstShare = 0.1;
const burstMeanMs = 500;
const promptTokensMax = 32_000;
const outputTokensMax = 2_000;

export function arrivals(scenario: Scenario, seed: number, durationMs: number): RoutingRequest[] {
  const root = new SeededRandom(seed);
  const times = arrivalTimes(scenario, root.fork(), durationMs);
  const draw = prompts(scenario, root.fork());
  const replicas = root.fork();
  return times.map((atMs, id) => ({
    id,
    atMs,
    replica: replicas.integer(scenario.replicas),
    ...draw(),
  }));
}

function arrivalTimes(scenario: Scenario, random: SeededRandom, durationMs: number): number[] {
  if (scenario.ramp !== undefined) return rampTimes(scenario.ramp, random, durationMs);
  let speed = 0;
  for (let pod = 0; pod < scenario.pods; pod++) speed += scenario.speeds?.(pod) ?? 1;
  const meanRate = (scenario.utilisation * speed) / podMsPerRequest(scenario.traffic);
  const factor = scenario.burst ?? 1;
  const calmRate = meanRate / (1 - burstShare + burstShare * factor);
  const times: number[] = [];
  let atMs = 0;
  let isBurst = false;
  let phaseEndMs = random.exponential((burstMeanMs * (1 - burstShare)) / burstShare);
  while (atMs < durationMs) {
    const nextMs = atMs + random.exponential(1 / (isBurst ? calmRate * factor : calmRate));
    if (nextMs < phaseEndMs) {
      atMs = nextMs;
      times.push(atMs);
    } else {
      // Poisson arrivals have no memory: at the change of phase the draw simply begins anew.
      atMs = phaseEndMs;
      isBurst = !isBurst;
      const calmMeanMs = (burstMeanMs * (1 - burstShare)) / burstShare;
      phaseEndMs += isBurst ? burstMeanMs : random.exponential(calmMeanMs);
    }
  }
  if (times.at(-1)! > durationMs) times.pop();
  return times;
}

/** A Poisson process whose rate rises evenly: one at the highest rate, thinned. */
function rampTimes(
  [fromPerS, toPerS]: readonly [number, number],
  random: SeededRandom,
  durationMs: number,
): number[] {
  const mostPerS = Math.max(fromPerS, toPerS);
  const times: number[] = [];
  let atMs = random.exponential(1000 / mostPerS);
  while (atMs < durationMs) {
    const perS = fromPerS + ((toPerS - fromPerS) * atMs) / durationMs;
    if (random.next() * mostPerS < perS) times.push(atMs);
    atMs += random.exponential(1000 / mostPerS);
  }
  return times;
}

type Drawn = Pick<
  RoutingRequest,
  'promptTokens' | 'outputTokens' | 'blocks' | 'engineBlocks' | 'session' | 'isLong'
>;

function prompts(scenario: Scenario, random: SeededRandom): () => Drawn {
  const { traffic } = scenario;
  const texts = sharedTexts(traffic, random);
  const popularity = popularities(texts.length, traffic.sharedTokens === undefined ? 0.8 : 0);
  let nextBlock = texts.reduce((sum, text) => sum + text.length, 0) + 1;
  const sweep = texts.slice();
  return () => {
    const isLong = random.next() < (traffic.longShare ?? 0);
    const text = sweep.pop() ?? texts[pickByWeight(popularity, random.next())] ?? [];
    const drawn = isLong
      ? longMin + random.integer(longMax - longMin)
      : Math.min(8000, Math.ceil(random.logNormal(traffic.promptMedian, traffic.promptSigma)));
    const promptTokens = Math.min(promptTokensMax, drawn + text.length * blockTokens);
    const output = Math.ceil(random.logNormal(traffic.outputMedian, traffic.outputSigma));
    const blocks = new Int32Array(Math.floor(promptTokens / blockTokens));
    for (let i = 0; i < blocks.length; i++) blocks[i] = text[i] ?? nextBlock++;
    return {
      promptTokens,
      outputTokens: Math.min(outputTokensMax, output),
      blocks,
      engineBlocks: blocks,
      session: -1,
      isLong,
    };
  };
}

function sharedTexts(traffic: Traffic, random: SeededRandom): number[][] {
  let nextBlock = 1;
  return Array.from({ length: traffic.sharedTexts ?? 0 }, () => {
    const tokens = traffic.sharedTokens ?? sharedMin + random.integer(sharedMax - sharedMin);
    return Array.from({ length: Math.round(tokens / blockTokens) }, () => nextBlock++);
  });
}

/** Cumulative popularity of ranks 1 … count, ∝ rank^−exponent. */
function popularities(count: number, exponent: number): number[] {
  const weights = Array.from({ length: count }, (_, rank) => (rank + 1) ** -exponent);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let sum = 0;
  return weights.map((weight) => {
    sum += weight / total;
    return sum;
  });
}

function pickByWeight(cumulative: readonly number[], at: number): number {
  let low = 0;
  let high = cumulative.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (cumulative[middle]! > at) high = middle;
    else low = middle + 1;
  }
  return low;
}
