/**
 * The present default of the widest-used picker (August 2026), in its strong version: its prefix
 * index is exact and sized to the KV cache, and its prefill rate is the engines' own.
 *
 * Pods with at least 80 % of the prompt cached are kept to, unless the best of them would give its
 * first token more than 18 s later than the best pod of all. Of those left the one with the fewest
 * uncached prompt tokens in flight wins, the request's own included, ties at random. A prompt is
 * in flight until its first token. Each replica knows what it sent itself.
 */
import { defaultEngineParameters, SeededRandom } from '@leadsman/testing';
import { PeerPrefixIndex } from './peer-prefix-index.ts';
import type { Policy, PolicyOptions } from './policy.ts';
import type { RoutingRequest } from './request.ts';

const affinityRatio = 0.8;
const ttftPenaltyMaxMs = 18_000;

export class TokenLoadPeerPolicy implements Policy {
  readonly #tokens: Float64Array[];
  readonly #prefix: PeerPrefixIndex[];
  readonly #uncachedOf = new Map<number, number>();
  readonly #uncached: Float64Array;
  readonly #matched: Float64Array;
  readonly #blockTokens: number;
  readonly #random: SeededRandom;

  constructor(options: PolicyOptions) {
    const { pods, replicas, kvCapacityTokens, blockTokens } = options;
    this.#tokens = Array.from({ length: replicas }, () => new Float64Array(pods));
    this.#prefix = Array.from(
      { length: replicas },
      () => new PeerPrefixIndex(pods, kvCapacityTokens, blockTokens),
    );
    this.#uncached = new Float64Array(pods);
    this.#matched = new Float64Array(pods);
    this.#blockTokens = blockTokens;
    this.#random = new SeededRandom(options.seed);
  }

  tick(): void {}
  gauges(): void {}

  pick(request: RoutingRequest): number {
    const inFlight = this.#tokens[request.replica]!;
    const prefix = this.#prefix[request.replica]!;
    let leastOfAll = Number.POSITIVE_INFINITY;
    let leastOfWarm = Number.POSITIVE_INFINITY;
    for (let pod = 0; pod < inFlight.length; pod++) {
      const matched = prefix.matchedBlocks(pod, request.blocks);
      this.#matched[pod] = request.blocks.length === 0 ? 0 : matched / request.blocks.length;
      const uncached = request.promptTokens - matched * this.#blockTokens;
      this.#uncached[pod] = uncached;
      const tokens = inFlight[pod]! + uncached;
      if (tokens < leastOfAll) leastOfAll = tokens;
      if (this.#matched[pod]! >= affinityRatio && tokens < leastOfWarm) leastOfWarm = tokens;
    }
    const penaltyMs =
      ((leastOfWarm - leastOfAll) * 1000) / defaultEngineParameters.prefillTokensPerSecond;
    const keepsToWarm = penaltyMs <= ttftPenaltyMaxMs;
    let best = -1;
    let bestTokens = Number.POSITIVE_INFINITY;
    let ties = 0;
    for (let pod = 0; pod < inFlight.length; pod++) {
      if (keepsToWarm && this.#matched[pod]! < affinityRatio) continue;
      const tokens = inFlight[pod]! + this.#uncached[pod]!;
      if (tokens > bestTokens) continue;
      ties = tokens < bestTokens ? 0 : ties + 1;
      if (ties === 0 || this.#random.next() * (ties + 1) < 1) best = pod;
      bestTokens = tokens;
    }
    inFlight[best]! += this.#uncached[best]!;
    this.#uncachedOf.set(request.id, this.#uncached[best]!);
    prefix.record(best, request.blocks);
    return best;
  }

  firstToken(request: RoutingRequest, pod: number): void {
    this.#tokens[request.replica]![pod]! -= this.#uncachedOf.get(request.id)!;
    this.#uncachedOf.delete(request.id);
  }

  finished(): void {}
}
