/**
 * One run: a fleet of engine models, one stream of requests, one policy. Events are handled in
 * order of time: gauge samples and ticks on a grid of 5 ms, arrivals in between, and the engines
 * brought up to each of these moments first.
 */
import { type EngineGauges, EngineModel, SeededRandom } from '@leadsman/testing';
import { type Policy, tickMs } from './policy.ts';
import { blockTokens, type RoutingRequest } from './request.ts';
import type { Scenario } from './scenario.ts';

/** Gauges are sampled this often, each pod at a phase of its own. */
const sampleEveryMs = 50;
/** From the sample to the picker, unless the scenario says otherwise: gauges are 50–100 ms old. */
const gaugeDelayMsDefault = 50;

export interface RunResult {
  /** By request id; NaN for those that came during the warm-up or did not finish. */
  ttftMs: Float64Array;
  endToEndMs: Float64Array;
  isLong: Uint8Array;
  /** Requests sent to the busiest pod over the mean of all pods. */
  busiestShare: number;
  prefixHitRatio: number;
  preemptions: number;
}

interface Sample {
  atMs: number;
  usableMs: number;
  gauges: EngineGauges;
}

export function simulate(
  scenario: Scenario,
  requests: readonly RoutingRequest[],
  policy: Policy,
  warmUpMs: number,
  seed: number,
): RunResult {
  const ttftMs = new Float64Array(requests.length).fill(Number.NaN);
  const endToEndMs = new Float64Array(requests.length).fill(Number.NaN);
  const sentTo = new Int32Array(scenario.pods);
  const engines = Array.from({ length: scenario.pods }, (_, pod) => {
    return new EngineModel(
      { speed: scenario.speeds?.(pod) ?? 1, blockTokens },
      {
        onFirstToken: (id, nowMs) => {
          const request = requests[id]!;
          if (request.atMs >= warmUpMs) ttftMs[id] = nowMs - request.atMs;
          policy.firstToken(request, pod, nowMs);
        },
        onFinish: (id, nowMs) => {
          const request = requests[id]!;
          if (request.atMs >= warmUpMs) endToEndMs[id] = nowMs - request.atMs;
          policy.finished(request, pod, nowMs);
        },
      },
    );
  });
  const gauges = new LateGauges(engines, scenario.gaugeDelayMs ?? gaugeDelayMsDefault, seed);
  const advance = (nowMs: number) => {
    for (const engine of engines) if (engine.nextEventMs <= nowMs) engine.advance(nowMs);
  };
  let tickAtMs = 0;
  const tickUntil = (untilMs: number) => {
    for (; tickAtMs <= untilMs; tickAtMs += tickMs) {
      advance(tickAtMs);
      gauges.deliver(policy, tickAtMs);
      policy.tick(tickAtMs);
    }
  };
  for (const request of requests) {
    tickUntil(request.atMs);
    advance(request.atMs);
    const pod = policy.pick(request, request.atMs);
    if (request.atMs >= warmUpMs) sentTo[pod]! += 1;
    const isAccepted = engines[pod]!.submit(
      {
        id: request.id,
        promptTokens: request.promptTokens,
        outputTokens: request.outputTokens,
        blockHashes: request.blocks,
      },
      request.atMs,
    );
    if (!isAccepted) throw new Error('a scenario made a request that no engine can take');
    // An idle engine begins at once, before any other request of this moment.
    engines[pod]!.advance(request.atMs);
  }
  // Let all end, so that slow requests count as what they are.
  while (engines.some((engine) => engine.alive > 0)) tickUntil(tickAtMs + 100);
  return {
    ttftMs,
    endToEndMs,
    isLong: Uint8Array.from(requests, (request) => (request.isLong ? 1 : 0)),
    busiestShare: (Math.max(...sentTo) * scenario.pods) / sentTo.reduce((sum, n) => sum + n, 0),
    prefixHitRatio: sum(engines, 'prefixHitTokensTotal') / sum(engines, 'prefixQueryTokensTotal'),
    preemptions: sum(engines, 'preemptionsTotal'),
  };
}

function sum(engines: readonly EngineModel[], gauge: keyof EngineGauges): number {
  return engines.reduce((total, engine) => total + engine.gauges[gauge], 0);
}

/** Samples every engine's gauges on its own phase and hands them on after the delay. */
class LateGauges {
  readonly #engines: readonly EngineModel[];
  readonly #delayMs: number;
  readonly #nextSampleMs: Float64Array;
  readonly #pending: Sample[][];

  constructor(engines: readonly EngineModel[], delayMs: number, seed: number) {
    const random = new SeededRandom(seed ^ 0x6a09e667);
    this.#engines = engines;
    this.#delayMs = delayMs;
    this.#nextSampleMs = Float64Array.from(engines, () => random.next() * sampleEveryMs);
    this.#pending = engines.map(() => []);
  }

  deliver(policy: Policy, nowMs: number): void {
    for (let pod = 0; pod < this.#engines.length; pod++) {
      const pending = this.#pending[pod]!;
      if (this.#nextSampleMs[pod]! <= nowMs) {
        this.#nextSampleMs[pod]! += sampleEveryMs;
        const gauges = { ...this.#engines[pod]!.gauges };
        pending.push({ atMs: nowMs, usableMs: nowMs + this.#delayMs, gauges });
      }
      while (pending.length > 0 && pending[0]!.usableMs <= nowMs) {
        const sample = pending.shift()!;
        policy.gauges(pod, sample.gauges, sample.atMs, nowMs);
      }
    }
  }
}
