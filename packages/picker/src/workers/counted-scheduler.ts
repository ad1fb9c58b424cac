/** Counts picks per endpoint in shared memory, for people and tests; otherwise a pass-through. */
import type {
  Outcome,
  PickResult,
  RequestFacts,
  Scheduler,
  Wait,
  Waiter,
} from '@leadsman/scheduling/scheduler';

export class CountedScheduler implements Scheduler {
  readonly #scheduler: Scheduler;
  readonly #picks: Uint32Array;

  constructor(scheduler: Scheduler, picks: ArrayBufferLike) {
    this.#scheduler = scheduler;
    this.#picks = new Uint32Array(picks);
  }

  admit(request: RequestFacts, heldBytes: number, waiter: Waiter): Wait | undefined {
    return this.#scheduler.admit(request, heldBytes, waiter);
  }

  endWaits(): void {
    this.#scheduler.endWaits();
  }

  pick(request: RequestFacts, into: PickResult): void {
    this.#scheduler.pick(request, into);
    if (into.status === 'picked' && into.endpoint !== undefined) {
      Atomics.add(this.#picks, into.endpoint.index, 1);
    }
  }

  servedBy(ticket: number, destination: string): string | undefined {
    return this.#scheduler.servedBy(ticket, destination);
  }

  firstToken(ticket: number): void {
    this.#scheduler.firstToken(ticket);
  }

  withdraw(ticket: number): void {
    this.#scheduler.withdraw(ticket);
  }

  upstreamFailed(ticket: number): void {
    this.#scheduler.upstreamFailed(ticket);
  }

  release(ticket: number, outcome: Outcome): void {
    this.#scheduler.release(ticket, outcome);
  }
}
