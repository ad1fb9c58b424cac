/**
 * One run: a fleet of engine models, one stream of requests, one policy. Events are handled in
 * order of time: gauge samples and ticks on a grid of 5 ms, arrivals in between, and the engines
 * brought up to each of these moments first.
 */
import {
  defaultEngineParameters,
  type EngineGauges,
  EngineModel,
  SeededRandom,
} from '@leadsman/testing';
import { DueRequests } from './due-requests.ts';
import { type Policy, tickMs } from './policy.ts';
import { blockTokens, type RoutingRequest } from './request.ts';

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
  /** By request id: when it was sent; in a closed loop, not as the trace says. */
  sentMs: Float64Array;
  /** Requests that wait in the fleet's engines, each half second of the measured arrivals. */
  waiting: number[];
}

/** The engines of a run and how late their gauges are. */
export interface Fleet {
  readonly pods: number;
  /** Speed of each pod; 1 for all if absent. */
  readonly speeds?: (pod: number) => number;
  /** From sampling a gauge to its being usable, 50 ms if absent; samples are 50 ms apart. */
  readonly gaugeDelayMs?: number;
  /** As engines have it by default if absent. */
  readonly kvCapacityTokens?: number;
  /** Tokens per block of the requests, 64 if absent. */
  readonly blockTokens?: number;
}

const waitingEveryMs = 500;

interface Sample {
  atMs: number;
  usableMs: number;
  gauges: EngineGauges;
}

export function simulate(
  fleet: Fleet,
  requests: readonly RoutingRequest[],
  policy: Policy,
  warmUpMs: number,
  seed: number,
): RunResult {
  const ttftMs = new Float64Array(requests.length).fill(Number.NaN);
  const endToEndMs = new Float64Array(requests.length).fill(Number.NaN);
  const sentMs = new Float64Array(requests.length).fill(Number.NaN);
  const sentTo = new Int32Array(fleet.pods);
  const due = new DueRequests(requests);
  const { kvCapacityTokens = defaultEngineParameters.kvCapacityTokens } = fleet;
  const engines = Array.from({ length: fleet.pods }, (_, pod) => {
    return new EngineModel(
      {
        speed: fleet.speeds?.(pod) ?? 1,
        blockTokens: fleet.blockTokens ?? blockTokens,
        kvCapacityTokens,
      },
      {
        onFirstToken: (id, nowMs) => {
          const request = requests[id]!;
          if (sentMs[id]! >= warmUpMs) ttftMs[id] = nowMs - sentMs[id]!;
          policy.firstToken(request, pod, nowMs);
        },
        onFinish: (id, nowMs) => {
          const request = requests[id]!;
          if (sentMs[id]! >= warmUpMs) endToEndMs[id] = nowMs - sentMs[id]!;
          due.ended(request, nowMs);
          policy.finished(request, pod, nowMs);
        },
      },
    );
  });
  policy.attach?.(engines);
  const gauges = new LateGauges(engines, fleet.gaugeDelayMs ?? gaugeDelayMsDefault, seed);
  const advance = (nowMs: number) => {
    for (const engine of engines) if (engine.nextEventMs <= nowMs) engine.advance(nowMs);
  };
  let tickAtMs = 0;
  let waitingAtMs = warmUpMs;
  const waiting: number[] = [];
  const hits = new HitCount(engines);
  const tickUntil = (untilMs: number) => {
    for (; tickAtMs <= untilMs; tickAtMs += tickMs) {
      advance(tickAtMs);
      gauges.deliver(policy, tickAtMs);
      policy.tick(tickAtMs);
      if (tickAtMs >= waitingAtMs && !due.isEmpty) {
        if (waiting.length === 0) hits.begin();
        waiting.push(sum(engines, 'waiting'));
        waitingAtMs += waitingEveryMs;
      }
    }
  };
  const send = (request: RoutingRequest, nowMs: number) => {
    const pod = policy.pick(request, nowMs);
    sentMs[request.id] = nowMs;
    if (nowMs >= warmUpMs) sentTo[pod]! += 1;
    const isAccepted = engines[pod]!.submit(
      {
        id: request.id,
        promptTokens: request.promptTokens,
        outputTokens: request.outputTokens,
        blockHashes: request.engineBlocks,
      },
      nowMs,
    );
    if (!isAccepted) throw new Error('a scenario made a request that no engine can take');
    // An idle engine begins at once, before any other request of this moment.
    engines[pod]!.advance(nowMs);
  };
  // To the last answer, so that slow requests count as what they are.
  while (!due.isEmpty || engines.some((engine) => engine.alive > 0)) {
    const nextMs = due.nextMs;
    if (nextMs > tickAtMs) {
      tickUntil(tickAtMs);
    } else {
      advance(nextMs);
      // An answer that ended just now may have made another one due earlier.
      send(due.take(), Math.max(nextMs, tickAtMs - tickMs));
    }
  }
  return {
    ttftMs,
    endToEndMs,
    isLong: Uint8Array.from(requests, (request) => (request.isLong ? 1 : 0)),
    busiestShare: (Math.max(...sentTo) * fleet.pods) / sentTo.reduce((sum, n) => sum + n, 0),
    prefixHitRatio: hits.ratio(),
    preemptions: sum(engines, 'preemptionsTotal'),
    sentMs,
    waiting,
  };
}

function sum(engines: readonly EngineModel[], gauge: keyof EngineGauges): number {
  return engines.reduce((total, engine) => total + engine.gauges[gauge], 0);
}

/** Prefix hits of the fleet since `begin`. */
class HitCount {
  readonly #engines: readonly EngineModel[];
  #hits = 0;
  #queries = 0;

  constructor(engines: readonly EngineModel[]) {
    this.#engines = engines;
  }

  begin(): void {
    this.#hits = sum(this.#engines, 'prefixHitTokensTotal');
    this.#queries = sum(this.#engines, 'prefixQueryTokensTotal');
  }

  ratio(): number {
    const queries = sum(this.#engines, 'prefixQueryTokensTotal') - this.#queries;
    return (sum(this.#engines, 'prefixHitTokensTotal') - this.#hits) / queries;
  }
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
