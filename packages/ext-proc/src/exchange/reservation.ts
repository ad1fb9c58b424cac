/**
 * The place that one exchange holds in the in-flight accounts: taken at the pick, given back
 * exactly once at whatever end comes first. Streams of the same HTTP request share one.
 */

import { Counter } from '../counters.ts';
import type { RequestEntry } from '../in-flight/request-registry.ts';
import type { ExchangeContext } from './context.ts';

export class Reservation {
  readonly #context: ExchangeContext;
  #entry: RequestEntry | undefined;
  #sawFirstToken = false;
  #poolName = '';

  constructor(context: ExchangeContext) {
    this.#context = context;
  }

  get held(): boolean {
    return this.#entry !== undefined;
  }

  /** `namespace/name` of the pool that was picked from. */
  get poolName(): string {
    return this.#poolName;
  }

  /** Joins a request that another stream has picked for; its destination, else undefined. */
  join(poolName: string, identity: string): string | undefined {
    this.#poolName = poolName;
    this.#entry = this.#context.registry.join(poolName, identity);
    if (this.#entry !== undefined) this.#context.counters.add(Counter.duplicate_streams);
    return this.#entry?.destination;
  }

  /** Holds what the scheduler has just counted. */
  take(poolName: string, identity: string, ticket: number, destination: string): void {
    this.#entry = this.#context.registry.add(poolName, identity, ticket, destination);
  }

  /** A response is coming: later streams with this id are other requests. */
  responding(): void {
    if (this.#entry !== undefined) this.#context.registry.respond(this.#entry);
  }

  /** The gateway sent the request elsewhere; the pool of that endpoint, if it is one of ours. */
  servedBy(destination: string): string | undefined {
    const ticket = this.#ticket;
    return ticket < 0 ? undefined : this.#context.scheduler.servedBy(ticket, destination);
  }

  /** The request never came to an engine. */
  withdraw(): void {
    if (this.#ticket >= 0) this.#context.scheduler.withdraw(this.#ticket);
  }

  /** It did not because the endpoint cannot be reached. */
  upstreamFailed(): void {
    if (this.#ticket >= 0) this.#context.scheduler.upstreamFailed(this.#ticket);
  }

  firstToken(): void {
    if (this.#sawFirstToken || this.#entry === undefined) return;
    this.#sawFirstToken = true;
    if (this.#ticket >= 0) this.#context.scheduler.firstToken(this.#ticket);
  }

  /** Gives the place back; any further call does nothing. */
  release(outputTokens: number, aborted: boolean): void {
    const entry = this.#entry;
    if (entry === undefined) return;
    this.#entry = undefined;
    const { counters, registry, scheduler } = this.#context;
    // Each stream of a request may have seen its usage, and any of them may be the last to end.
    entry.outputTokens = Math.max(entry.outputTokens, outputTokens);
    // A guest's count belongs to the worker that picked.
    if (!registry.leave(entry) || entry.isGuest) return;
    if (entry.outputTokens > 0) counters.add(Counter.output_tokens, entry.outputTokens);
    if (entry.ticket < 0) return;
    scheduler.release(entry.ticket, { outputTokens: entry.outputTokens, aborted });
  }

  /** The scheduler's ticket; -1 without one, and for a guest. */
  get #ticket(): number {
    return this.#entry?.ticket ?? -1;
  }
}
