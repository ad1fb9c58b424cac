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

  constructor(context: ExchangeContext) {
    this.#context = context;
  }

  get held(): boolean {
    return this.#entry !== undefined;
  }

  /** Joins a request that another stream has picked for; its destination, else undefined. */
  join(poolName: string, requestId: string): string | undefined {
    this.#entry = this.#context.registry.join(poolName, requestId);
    if (this.#entry !== undefined) this.#context.counters.add(Counter.duplicate_streams);
    return this.#entry?.destination;
  }

  /** Holds what the scheduler has just counted. */
  take(poolName: string, requestId: string, ticket: number, destination: string): void {
    this.#entry = this.#context.registry.add(poolName, requestId, ticket, destination);
  }

  /** A response is coming: later streams with this id are other requests. */
  responding(): void {
    if (this.#entry !== undefined) this.#context.registry.respond(this.#entry);
  }

  /** The gateway sent the request elsewhere. */
  servedBy(destination: string): void {
    if (this.#entry === undefined || this.#entry.ticket < 0) return;
    this.#context.scheduler.servedBy(this.#entry.ticket, destination);
  }

  firstToken(): void {
    if (this.#sawFirstToken || this.#entry === undefined) return;
    this.#sawFirstToken = true;
    if (this.#entry.ticket >= 0) this.#context.scheduler.firstToken(this.#entry.ticket);
  }

  /** Gives the place back; any further call does nothing. */
  release(outputTokens: number, aborted: boolean): void {
    const entry = this.#entry;
    if (entry === undefined) return;
    this.#entry = undefined;
    if (outputTokens > 0) this.#context.counters.add(Counter.output_tokens, outputTokens);
    // A guest's count belongs to the worker that picked.
    if (!this.#context.registry.leave(entry) || entry.ticket < 0) return;
    this.#context.scheduler.release(entry.ticket, { outputTokens, aborted });
  }
}
