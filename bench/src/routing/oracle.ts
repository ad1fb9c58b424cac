/**
 * A picker that knows every queue and every cache exactly, as they are at the moment of the pick,
 * and what it sent itself. It takes the pod where the request costs the fleet the least time: its
 * own wait, prefill and decoding, and what these take from the requests that run there. It is
 * greedy and does not know the future, lengths of answers included (it expects the mean).
 */
import { type EngineModel, SeededRandom } from '@leadsman/testing';
import type { Policy, PolicyOptions } from './policy.ts';
import type { RoutingRequest } from './request.ts';

/** The first guess of an answer's length, tokens, that counts as so many seen. */
const outputGuess = 200;
const outputGuessWeight = 20;
/**
 * A wait counts more than other time, and delaying others less: with both at 1 mean times are best,
 * but long prompts gather on a few pods, and p99 is worse than that of simple peers.
 */
const waitWeight = 4;
const harmWeight = 0.5;

export class OraclePolicy implements Policy {
  #engines: readonly EngineModel[] = [];
  /** Per pod, how many of the requests without a first token will compute a block. */
  readonly #coming: Map<number, number>[];
  readonly #uncachedOf = new Map<number, number>();
  readonly #blockTokens: number;
  readonly #random: SeededRandom;
  #outputTokens = outputGuess * outputGuessWeight;
  #finished = outputGuessWeight;
  #hitTokens = 0;
  #promptTokens = 1;

  constructor(options: PolicyOptions) {
    this.#coming = Array.from({ length: options.pods }, () => new Map());
    this.#blockTokens = options.blockTokens;
    this.#random = new SeededRandom(options.seed);
  }

  attach(engines: readonly EngineModel[]): void {
    this.#engines = engines;
  }

  tick(): void {}
  gauges(): void {}

  pick(request: RoutingRequest): number {
    let best = 0;
    let bestMs = Number.POSITIVE_INFINITY;
    let bestUncached = 0;
    let ties = 0;
    for (let pod = 0; pod < this.#engines.length; pod++) {
      const uncached = this.#uncached(request, pod);
      const costMs = this.#costMs(request, uncached, this.#engines[pod]!);
      if (costMs > bestMs) continue;
      ties = costMs < bestMs ? 0 : ties + 1;
      if (ties > 0 && this.#random.next() * (ties + 1) >= 1) continue;
      best = pod;
      bestMs = costMs;
      bestUncached = uncached;
    }
    this.#uncachedOf.set(request.id, bestUncached);
    this.#hitTokens += request.promptTokens - bestUncached;
    this.#promptTokens += request.promptTokens;
    this.#count(request, best, 1);
    return best;
  }

  firstToken(request: RoutingRequest, pod: number): void {
    this.#uncachedOf.delete(request.id);
    this.#count(request, pod, -1);
  }

  finished(request: RoutingRequest): void {
    this.#outputTokens += request.outputTokens;
    this.#finished++;
  }

  /** Prompt tokens that `pod` will have to compute, those in its queue being done before. */
  #uncached({ blocks, promptTokens }: RoutingRequest, pod: number): number {
    const coming = this.#coming[pod]!;
    const most = Math.min(blocks.length, Math.floor((promptTokens - 1) / this.#blockTokens));
    let cached = this.#engines[pod]!.inside.cachedBlocks(blocks, most);
    while (cached < most && coming.has(blocks[cached]!)) cached++;
    return promptTokens - cached * this.#blockTokens;
  }

  #costMs(request: RoutingRequest, uncached: number, engine: EngineModel): number {
    const p = engine.parameters;
    const { inside } = engine;
    let queuedTokens = inside.prefillTokensLeft;
    let waitingContext = 0;
    const { waiting } = inside;
    for (let i = 0; i < waiting; i++) {
      const ahead = inside.waitingAt(i);
      queuedTokens += this.#uncachedOf.get(ahead.id) ?? ahead.promptTokens;
      waitingContext += ahead.promptTokens;
    }
    const output = this.#outputTokens / this.#finished;
    const context = request.promptTokens + output / 2;
    const others = inside.running + waiting;
    const prefillMs = (1000 * uncached) / p.prefillTokensPerSecond;
    const queuedMs = (1000 * queuedTokens) / p.prefillTokensPerSecond;
    const perTokenMs = p.stepPerSequenceMs + (p.stepPerKvKilotokenMs * context) / 1000;
    const stepMs =
      p.stepBaseMs +
      p.stepPerSequenceMs * others +
      (p.stepPerKvKilotokenMs * (inside.contextTokens + waitingContext)) / 1000 +
      perTokenMs;
    // What does not fit waits until as much was freed by answers that end.
    const blocksHeld = inside.kvBlocksUsed + (waitingContext + context) / this.#blockTokens;
    const overflow = blocksHeld - p.kvCapacityTokens / this.#blockTokens;
    const freedPerMs = inside.contextTokens / (output * stepMs);
    const roomMs = overflow > 0 ? (overflow * this.#blockTokens) / Math.max(1e-3, freedPerMs) : 0;
    const ownMs = prefillMs + output * stepMs;
    // A full cache gives up something for each new block. How likely that would have been of use
    // again is taken from how often this is so.
    const evictedMs = (prefillMs * this.#hitTokens) / this.#promptTokens;
    const harmMs = harmWeight * (prefillMs + evictedMs) * inside.running;
    const waitMs = queuedMs + roomMs;
    return (waitMs * waitWeight + ownMs + evictedMs + harmMs) / p.speed;
  }

  #count({ blocks }: RoutingRequest, pod: number, change: 1 | -1): void {
    const coming = this.#coming[pod]!;
    for (let i = 0; i < blocks.length; i++) {
      const count = (coming.get(blocks[i]!) ?? 0) + change;
      if (count === 0) coming.delete(blocks[i]!);
      else coming.set(blocks[i]!, count);
    }
  }
}
