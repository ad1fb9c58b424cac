/** A scheduler whose answers a test decides, and which remembers what it was asked and told. */
import type { Outcome, PickResult, RequestFacts, Scheduler } from '@leadsman/scheduling/scheduler';

export interface SeenRequest {
  requestId: string;
  poolName: string;
  model: string;
  prompt: string | undefined;
  promptTokens: number;
  maxOutputTokens: number;
  streaming: boolean;
  computes: boolean;
  cacheIdentity: string;
  subset: readonly string[] | undefined;
}

export class FakeScheduler implements Scheduler {
  /** Given out in turn. */
  destinations: readonly string[] = ['10.0.0.1:8000'];
  /** Overrides the pick. */
  answer: ((request: SeenRequest, into: PickResult) => void) | undefined;
  readonly requests: SeenRequest[] = [];
  readonly firstTokens: number[] = [];
  readonly moved: { ticket: number; destination: string }[] = [];
  /** Whose member an endpoint is that was not picked. */
  poolOf: (destination: string) => string | undefined = () => 'ns/pool';
  readonly withdrawn: number[] = [];
  readonly failed: number[] = [];
  readonly released: { ticket: number; outcome: Outcome }[] = [];
  readonly open = new Set<number>();
  #tickets = 0;

  admit(): undefined {}

  endWaits(): void {}

  pick(request: RequestFacts, into: PickResult): void {
    const seen: SeenRequest = {
      requestId: request.requestId,
      poolName: request.poolName,
      model: request.model,
      prompt: request.prompt && Buffer.from(request.prompt).toString(),
      promptTokens: request.promptTokens,
      maxOutputTokens: request.maxOutputTokens,
      streaming: request.streaming,
      computes: request.computes,
      cacheIdentity: request.cacheIdentity,
      subset: request.subset && [...request.subset],
    };
    if (this.requests.length < 10_000) this.requests.push(seen);
    into.endpoint = undefined;
    into.retryAfterS = 0;
    into.reason = '';
    into.ticket = -1;
    if (this.answer !== undefined) {
      this.answer(seen, into);
    } else if (request.subset !== undefined) {
      this.#pickFrom(
        this.destinations.filter((destination) => request.subset!.includes(destination)),
        into,
      );
    } else {
      this.#pickFrom(this.destinations, into);
    }
    if (into.status !== 'picked') return;
    into.ticket = this.#tickets++;
    this.open.add(into.ticket);
  }

  servedBy(ticket: number, destination: string): string | undefined {
    this.moved.push({ ticket, destination });
    return this.poolOf(destination);
  }

  withdraw(ticket: number): void {
    this.withdrawn.push(ticket);
  }

  upstreamFailed(ticket: number): void {
    this.failed.push(ticket);
  }

  firstToken(ticket: number): void {
    if (this.firstTokens.length < 10_000) this.firstTokens.push(ticket);
  }

  release(ticket: number, outcome: Outcome): void {
    if (!this.open.delete(ticket)) throw new Error(`ticket ${ticket} was released twice`);
    if (this.released.length < 10_000) this.released.push({ ticket, outcome });
  }

  #pickFrom(destinations: readonly string[], into: PickResult): void {
    const destination = destinations[this.#tickets % Math.max(1, destinations.length)];
    into.status = destination === undefined ? 'no_endpoint' : 'picked';
    into.destination = destination ?? '';
  }
}
