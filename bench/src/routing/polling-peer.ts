/**
 * The common peer: a picker whose replicas poll every pod, and that adds up weighted scores and
 * takes the highest, ties at random. In its strong version: its gauges are as fresh as ours, its
 * prefix index is exact and sized to the KV cache, and in-flight counts are up to the moment.
 * What it lacks is what this benchmark is about: replicas do not know of each other's requests,
 * gauges are taken for the present, and requests are counted, not weighed.
 */
import { type EngineGauges, SeededRandom } from '@leadsman/testing';
import { PeerPrefixIndex } from './peer-prefix-index.ts';
import type { Policy, PolicyOptions } from './policy.ts';
import type { RoutingRequest } from './request.ts';

const queueWeight = 2;
const kvWeight = 2;
const prefixWeight = 3;
const inFlightWeight = 2;

export class PollingPeerPolicy implements Policy {
  readonly #waiting: Int32Array;
  readonly #kvUsageRatio: Float64Array;
  readonly #inFlight: Int32Array[];
  readonly #prefix: PeerPrefixIndex[];
  readonly #usesInFlight: boolean;
  readonly #random: SeededRandom;

  constructor(options: PolicyOptions, usesInFlight: boolean) {
    this.#waiting = new Int32Array(options.pods);
    this.#kvUsageRatio = new Float64Array(options.pods);
    const replicas = { length: options.replicas };
    this.#inFlight = Array.from(replicas, () => new Int32Array(options.pods));
    this.#prefix = Array.from(
      replicas,
      () => new PeerPrefixIndex(options.pods, options.kvCapacityTokens, options.blockTokens),
    );
    this.#usesInFlight = usesInFlight;
    this.#random = new SeededRandom(options.seed);
  }

  tick(): void {}

  gauges(pod: number, gauges: Readonly<EngineGauges>): void {
    this.#waiting[pod] = gauges.waiting;
    this.#kvUsageRatio[pod] = gauges.kvUsageRatio;
  }

  pick(request: RoutingRequest): number {
    const inFlight = this.#inFlight[request.replica]!;
    const prefix = this.#prefix[request.replica]!;
    const [waitingMin, waitingMax] = range(this.#waiting);
    const [inFlightMin, inFlightMax] = range(inFlight);
    let best = -1;
    let bestScore = Number.NEGATIVE_INFINITY;
    let ties = 0;
    for (let pod = 0; pod < inFlight.length; pod++) {
      let score =
        queueWeight * fromRange(this.#waiting[pod]!, waitingMin, waitingMax) +
        kvWeight * (1 - this.#kvUsageRatio[pod]!) +
        prefixWeight * prefix.matchedRatio(pod, request.blocks);
      if (this.#usesInFlight) {
        score += inFlightWeight * fromRange(inFlight[pod]!, inFlightMin, inFlightMax);
      }
      if (score < bestScore) continue;
      ties = score > bestScore ? 0 : ties + 1;
      if (ties === 0 || this.#random.next() * (ties + 1) < 1) best = pod;
      bestScore = score;
    }
    inFlight[best]! += 1;
    prefix.record(best, request.blocks);
    return best;
  }

  firstToken(): void {}

  finished(request: RoutingRequest, pod: number): void {
    this.#inFlight[request.replica]![pod]! -= 1;
  }
}

function range(values: Int32Array): [number, number] {
  let min = values[0]!;
  let max = min;
  for (const value of values) {
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return [min, max];
}

/** 1 for the least of the pool, 0 for the most, as the Go pickers' queue scorer has it. */
function fromRange(value: number, min: number, max: number): number {
  return max === min ? 1 : (max - value) / (max - min);
}
