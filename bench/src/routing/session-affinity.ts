/**
 * Sessions stay where they began, as by a cookie: every replica knows the pod of a session. Its
 * first request, and those of no session, go where the asked replica has the fewest in flight.
 */
import type { Policy, PolicyOptions } from './policy.ts';
import type { RoutingRequest } from './request.ts';
import { LeastRequestPolicy } from './simple-policies.ts';

export class SessionAffinityPolicy implements Policy {
  readonly #least: LeastRequestPolicy;
  readonly #podOf = new Map<number, number>();

  constructor(options: PolicyOptions) {
    this.#least = new LeastRequestPolicy(options);
  }

  tick(): void {}
  gauges(): void {}
  firstToken(): void {}

  pick(request: RoutingRequest): number {
    const known = this.#podOf.get(request.session);
    if (known !== undefined) {
      this.#least.sent(request, known);
      return known;
    }
    const pod = this.#least.pick(request);
    if (request.session >= 0) this.#podOf.set(request.session, pod);
    return pod;
  }

  finished(request: RoutingRequest, pod: number): void {
    this.#least.finished(request, pod);
  }
}
