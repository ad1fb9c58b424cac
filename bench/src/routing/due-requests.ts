/**
 * The requests of a run in the order in which they are to be sent: those of the open stream by
 * their time, and those of closed loops once the answer that they wait for has come.
 */
import type { RoutingRequest } from './request.ts';

export class DueRequests {
  readonly #open: readonly RoutingRequest[];
  #openAt = 0;
  readonly #followers = new Map<number, RoutingRequest[]>();
  #followersLeft = 0;
  /** By time, the next one last. Short: one per session at most. */
  readonly #released: { request: RoutingRequest; atMs: number }[] = [];

  /** `requests` are in order of `atMs`. */
  constructor(requests: readonly RoutingRequest[]) {
    this.#open = requests.filter((request) => request.after === undefined);
    for (const request of requests) {
      if (request.after === undefined) continue;
      this.#followersLeft++;
      const { id } = request.after;
      const others = this.#followers.get(id);
      if (others === undefined) this.#followers.set(id, [request]);
      else others.push(request);
    }
  }

  /** Whether all have been sent. */
  get isEmpty(): boolean {
    return (
      this.#openAt >= this.#open.length && this.#followersLeft === 0 && this.#released.length === 0
    );
  }

  /** When the next one is due; Infinity while all that are left wait for an answer. */
  get nextMs(): number {
    const openMs = this.#open[this.#openAt]?.atMs ?? Number.POSITIVE_INFINITY;
    return Math.min(openMs, this.#released.at(-1)?.atMs ?? Number.POSITIVE_INFINITY);
  }

  take(): RoutingRequest {
    const released = this.#released.at(-1);
    const open = this.#open[this.#openAt];
    if (released !== undefined && !(open !== undefined && open.atMs <= released.atMs)) {
      this.#released.pop();
      return released.request;
    }
    if (open === undefined) throw new RangeError('nothing is due');
    this.#openAt++;
    return open;
  }

  /** The answer to `request` has come: what waits for it becomes due after its pause. */
  ended({ id }: RoutingRequest, nowMs: number): void {
    const followers = this.#followers.get(id);
    if (followers === undefined) return;
    this.#followers.delete(id);
    for (const request of followers) {
      this.#followersLeft--;
      const atMs = nowMs + request.after!.thinkMs;
      let at = this.#released.length;
      while (at > 0 && this.#released[at - 1]!.atMs <= atMs) at--;
      this.#released.splice(at, 0, { request, atMs });
    }
  }
}
