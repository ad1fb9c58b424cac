/** The policies that need no numbers of an engine: the floor that anything else must beat. */
import { SeededRandom } from '@leadsman/testing';
import type { Policy, PolicyOptions } from './policy.ts';
import type { RoutingRequest } from './request.ts';

/** Ignores all news. */
abstract class Blind implements Policy {
  tick(): void {}
  gauges(): void {}
  abstract pick(request: RoutingRequest, nowMs: number): number;
  firstToken(_request: RoutingRequest, _pod: number, _nowMs: number): void {}
  finished(_request: RoutingRequest, _pod: number, _nowMs: number): void {}
}

export class RandomPolicy extends Blind {
  readonly #random: SeededRandom;
  readonly #pods: number;

  constructor(options: PolicyOptions) {
    super();
    this.#random = new SeededRandom(options.seed);
    this.#pods = options.pods;
  }

  pick(): number {
    return this.#random.integer(this.#pods);
  }
}

/** Each replica goes around by itself, from a place of its own. */
export class RoundRobinPolicy extends Blind {
  readonly #next: Int32Array;
  readonly #pods: number;

  constructor(options: PolicyOptions) {
    super();
    const random = new SeededRandom(options.seed);
    this.#next = Int32Array.from({ length: options.replicas }, () => random.integer(options.pods));
    this.#pods = options.pods;
  }

  pick(request: RoutingRequest): number {
    const pod = this.#next[request.replica]!;
    this.#next[request.replica] = (pod + 1) % this.#pods;
    return pod;
  }
}

/** The fewest requests in flight, of those that the asked replica sent itself. */
export class LeastRequestPolicy extends Blind {
  readonly #inFlight: Int32Array[];
  readonly #random: SeededRandom;

  constructor(options: PolicyOptions) {
    super();
    this.#inFlight = Array.from({ length: options.replicas }, () => new Int32Array(options.pods));
    this.#random = new SeededRandom(options.seed);
  }

  pick(request: RoutingRequest): number {
    const inFlight = this.#inFlight[request.replica]!;
    let best = 0;
    let ties = 0;
    for (let pod = 1; pod < inFlight.length; pod++) {
      if (inFlight[pod]! > inFlight[best]!) continue;
      ties = inFlight[pod]! < inFlight[best]! ? 0 : ties + 1;
      if (ties === 0 || this.#random.next() * (ties + 1) < 1) best = pod;
    }
    this.sent(request, best);
    return best;
  }

  /** Counts a request that goes to `pod` by another's choice. */
  sent(request: RoutingRequest, pod: number): void {
    this.#inFlight[request.replica]![pod]! += 1;
  }

  override finished(request: RoutingRequest, pod: number): void {
    this.#inFlight[request.replica]![pod]! -= 1;
  }
}
