/**
 * A request's wait for its turn, between all that the pick needs being there and the pick. Without
 * flow control it is over before it began.
 *
 * While it waits its prompt is kept for the pick and charged to the worker's budget like the body;
 * the time limit of the body does not run, as the queue has its own.
 */
import type { Wait, Waiter, WaitOutcome } from '@leadsman/scheduling/scheduler';
import type { RequestFields } from '../request/request-fields.ts';
import type { ExchangeStream } from '../transport/stream.ts';
import type { ExchangeContext } from './context.ts';
import type { RequestPick } from './request-pick.ts';

/** Hears that the turn has come, or that it will not. */
export interface TurnTaker {
  turnCame(): void;
  turnRefused(outcome: Exclude<WaitOutcome, 'dispatched'>, retryAfterS: number): void;
}

export class Turn implements Waiter {
  readonly #context: ExchangeContext;
  readonly #stream: ExchangeStream;
  readonly #taker: TurnTaker;
  #wait: Wait | undefined;
  #awaited = false;
  #promptBytes = 0;

  constructor(context: ExchangeContext, stream: ExchangeStream, taker: TurnTaker) {
    this.#context = context;
    this.#stream = stream;
    this.#taker = taker;
  }

  get awaited(): boolean {
    return this.#awaited;
  }

  /**
   * Asks for the turn; `bodyBytes` of the request are held. False: it has come, and the taker will
   * not be told. True: the taker is told, perhaps within this call.
   */
  ask(pick: RequestPick, fields: RequestFields | undefined, bodyBytes: number): boolean {
    this.#awaited = true;
    this.#promptBytes = fields?.prompt?.length ?? 0;
    this.#context.budget.charge(this.#promptBytes);
    const wait = pick.admit(fields, bodyBytes + this.#promptBytes, this);
    if (wait === undefined) this.leave();
    else if (this.#awaited) this.#wait = wait;
    return wait !== undefined;
  }

  waitEnded(outcome: WaitOutcome, retryAfterS: number): void {
    if (!this.#awaited) return;
    this.#over();
    if (outcome === 'dispatched') this.#taker.turnCame();
    else this.#taker.turnRefused(outcome, retryAfterS);
  }

  /** Nobody waits any more. May be called repeatedly. */
  leave(): void {
    if (!this.#awaited) return;
    const wait = this.#wait;
    this.#over();
    wait?.leave();
  }

  #over(): void {
    this.#awaited = false;
    this.#wait = undefined;
    this.#context.budget.give(this.#promptBytes);
    this.#promptBytes = 0;
    this.#stream.resume();
  }
}
