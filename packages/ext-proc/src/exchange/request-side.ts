/**
 * The request half of an exchange: when to pick, and what to answer before and after.
 *
 *   idle ──headers──> collecting ──body complete──> deciding ──┬──> picked
 *     │                   │                          (scan,    └──> refused
 *     └──(pick at once)───┴──(deadline, above cap)──> gunzip)
 *     └──body first──> passing
 *
 * | state      | headers     | body                          | trailers                       |
 * |------------|-------------|-------------------------------|--------------------------------|
 * | idle       | see below   | → passing                     | → passing                      |
 * | collecting | no-op, odd  | FULL_DUPLEX: held, no reply;  | body is complete → deciding;   |
 * |            |             | BUFFERED: complete → deciding | answered after the pick        |
 * | deciding   | no-op, odd  | FULL_DUPLEX: held; else odd   | answered after the pick        |
 * | picked     | no-op, odd  | echoed (FULL_DUPLEX) after    | no-op, after what is held      |
 * |            |             | what is held; else no-op      |                                |
 * | passing    | no-op, odd  | echoed (FULL_DUPLEX) or no-op | no-op                          |
 * | refused    | the immediate response has ended the exchange; everything is ignored         |
 *
 * "odd" is counted as unexpected and answered so that the request lives. When headers come:
 *
 * | mode                       | pick                      | answer                                 |
 * |----------------------------|---------------------------|----------------------------------------|
 * | NONE, STREAMED, GRPC       | at once                   | pick in the headers reply              |
 * | BUFFERED, BUFFERED_PARTIAL | when the body is there    | headers: remove the client's own       |
 * |                            |                           | destination; body: pick                |
 * | FULL_DUPLEX_STREAMED       | when the body is complete | headers with the pick, then the held   |
 * |                            |                           | chunks, then trailers                  |
 *
 * In every mode the pick is made at once where waiting has no use: `end_of_stream` on headers, an
 * upgrade or CONNECT, a body that is not JSON or is announced above the cap.
 *
 * With flow control on, "deciding" lasts until the request's turn has come (`turn.ts`). Held bytes
 * are charged to the worker's budget and leave as they came: nothing is re-serialised.
 */
import type { WaitOutcome } from '@leadsman/scheduling/scheduler';
import { BodyMode } from '../body-mode.ts';
import { Counter } from '../counters.ts';
import { header } from '../headers.ts';
import { echoBytes, echoMessage } from '../protobuf/echo.ts';
import type { HeaderList } from '../protobuf/header-list.ts';
import type { ProcessingRequest } from '../protobuf/processing-request.ts';
import {
  headersReply,
  immediateReply,
  noOpReply,
  ReplyTo,
} from '../protobuf/processing-response.ts';
import type { BodyReader } from '../request/body-reader.ts';
import type { ExchangeStream } from '../transport/stream.ts';
import type { ExchangeContext, Waiting } from './context.ts';
import { HeldBody } from './held-body.ts';
import { counterOf, kindOfOutcome, type RefusalKind, refusalOf } from './refusal.ts';
import { isUpgrade, lengthAbove } from './request-headers.ts';
import { RequestPick } from './request-pick.ts';
import type { Reservation } from './reservation.ts';
import { Turn, type TurnTaker } from './turn.ts';

type State = 'idle' | 'collecting' | 'deciding' | 'picked' | 'passing' | 'refused';

const noBytes = new Uint8Array(0);
const removeClientPick = headersReply(ReplyTo.requestHeaders, [], [header.destination]);

export class RequestSide implements Waiting, TurnTaker {
  readonly #context: ExchangeContext;
  readonly #stream: ExchangeStream;
  readonly #pick: RequestPick;
  readonly #onPicked: (destination: string) => void;
  readonly #held: HeldBody;
  readonly #turn: Turn;
  mode: BodyMode = BodyMode.none;
  sinceMs = 0;
  #state: State = 'idle';
  #reader: BodyReader | undefined;
  #replyTo: ReplyTo = ReplyTo.requestHeaders;
  #bodyEnded = false;
  /** The held bytes are the last, so the end goes out with them. */
  #endWaits = false;
  #trailersWait = false;
  #endAfterFlush = false;

  constructor(
    context: ExchangeContext,
    stream: ExchangeStream,
    reservation: Reservation,
    onPicked: (destination: string) => void,
  ) {
    this.#context = context;
    this.#stream = stream;
    this.#pick = new RequestPick(context, reservation);
    this.#held = new HeldBody(context.budget);
    this.#turn = new Turn(context, stream, this);
    this.#onPicked = onPicked;
  }

  /** The gateway has sent all it will send of the request, and has all of it back. */
  get ended(): boolean {
    return (this.#bodyEnded || !this.mode.showsBody) && !this.#waits;
  }

  get refused(): boolean {
    return this.#state === 'refused';
  }

  get undecided(): boolean {
    return this.#state === 'collecting' || this.#state === 'deciding';
  }

  headers(message: ProcessingRequest): void {
    if (this.#state !== 'idle') {
      if (this.refused) return;
      this.#odd();
      this.#stream.send(noOpReply(ReplyTo.requestHeaders));
      return;
    }
    this.#bodyEnded = message.endOfStream;
    if (this.#pick.read(message, this.#stream, this.mode)) this.#collectOrPick(message.headers);
    else this.refuse('unknown_pool', '', 0);
  }

  body(message: ProcessingRequest): void {
    const { body, endOfStream } = message;
    if (this.refused) return;
    if (this.#state === 'idle') {
      this.#odd();
      this.#state = 'passing';
    }
    if (this.#bodyEnded) {
      this.#context.counters.add(Counter.repeated_body_ends);
      if (!this.mode.takesBodyBack) this.#stream.send(noOpReply(ReplyTo.requestBody));
      return;
    }
    this.#bodyEnded = endOfStream;
    if (this.#state === 'picked' && this.#waits) this.#keep(body);
    else if (!this.undecided) this.#pass(message);
    else if (this.mode.sendsAhead) this.#hold(body);
    else if (this.#state === 'collecting') this.#takeWhole(body);
    else this.#pass(message);
  }

  trailers(): void {
    if (this.refused) return;
    this.#bodyEnded = true;
    if (this.#state === 'collecting') {
      if (!this.mode.sendsAhead) this.#replyTo = ReplyTo.requestTrailers;
      else this.#trailersWait = true;
      this.#startDeciding();
    } else if (this.#state === 'deciding' || this.#waits) {
      this.#trailersWait = true;
    } else {
      this.#stream.send(noOpReply(ReplyTo.requestTrailers));
    }
  }

  /** A message too large to be taken: only a buffered body can be answered without its bytes. */
  oversized(): void {
    if (this.#state === 'collecting' && !this.mode.sendsAhead) {
      this.#replyTo = ReplyTo.requestBody;
      this.#aboveCap();
    } else {
      this.refuse('too_large', '', 0);
    }
  }

  /** The pick has waited long enough for the body. */
  expire(): void {
    if (!this.undecided || this.#turn.awaited) return;
    if (this.#context.options.atDecisionTimeout === 'refuse') {
      this.refuse('deadline', '', 0);
    } else if (this.mode.sendsAhead || this.#state === 'deciding') {
      this.#context.counters.add(Counter.picks_at_deadline);
      this.#pickWithoutBody();
    }
    // A buffered body that has not come is the gateway's to time out: there is nothing to answer.
  }

  /**
   * Sends what was held, as far as the stream takes it; the rest when it has room again. Copying a
   * large body at one go would stop everything else for as long as that takes.
   */
  flush(): void {
    if (this.#state !== 'picked') return;
    while (!this.#held.isEmpty && !this.#stream.backlogged) this.#echo(this.#held.take()!);
    if (!this.#held.isEmpty) return;
    if (this.#endWaits) this.#echo(noBytes);
    if (this.#trailersWait) {
      this.#trailersWait = false;
      this.#stream.send(noOpReply(ReplyTo.requestTrailers));
    }
    if (this.#endAfterFlush) this.#stream.end();
  }

  /** No more messages will come; a pick that is still awaited goes out first. */
  halfClosed(): void {
    // A gateway that lost its client half-closes first. Nobody waits for a pick in its place.
    if (this.#turn.awaited) this.closed();
    if (this.#state === 'deciding' || this.#waits) this.#endAfterFlush = true;
    else this.#stream.end();
  }

  /** Answers in the engine's place and ends the exchange. */
  refuse(kind: RefusalKind, reason: string, retryAfterS: number): void {
    if (this.refused) return;
    this.#state = 'refused';
    this.#context.counters.add(counterOf(kind));
    this.#stream.send(immediateReply(refusalOf(kind, reason, retryAfterS, this.#pick.isGrpc)));
    this.#letGo();
    this.#stream.end();
  }

  /** The exchange is over. */
  closed(): void {
    if (this.undecided) this.#state = 'refused';
    this.#letGo();
  }

  #collectOrPick(headers: HeaderList | undefined): void {
    if (
      !this.mode.showsBodyBeforePick ||
      headers === undefined ||
      this.#bodyEnded ||
      isUpgrade(headers)
    ) {
      this.#decide();
      return;
    }
    if (lengthAbove(headers, this.#context.options.bodyBytesMax)) {
      this.#aboveCap();
      return;
    }
    this.#reader = this.#context.readers.open(headers);
    if (this.#reader === undefined) {
      this.#pickWithoutBody();
      return;
    }
    this.#state = 'collecting';
    this.sinceMs = this.#context.nowMs();
    this.#context.waiting.add(this);
    if (!this.mode.sendsAhead) this.#stream.send(removeClientPick);
  }

  #hold(body: Uint8Array): void {
    const { budget, counters, options } = this.#context;
    const hasRoom = budget.usedBytes + body.length <= budget.bytesMax;
    const kept = this.#keep(body);
    if (this.#turn.awaited) {
      // The rest stays with the gateway until the turn has come.
      if (!hasRoom) this.#stream.pause();
      return;
    }
    if (!hasRoom) {
      counters.add(Counter.body_memory_full);
      this.#pickWithoutBody();
      return;
    }
    if (this.#state === 'deciding') return;
    this.#pick.sawBody(kept);
    this.#reader?.feed(kept);
    if (this.#held.bytes > options.bodyBytesMax) this.#aboveCap();
    else if (this.#bodyEnded) this.#startDeciding();
  }

  #keep(body: Uint8Array): Uint8Array {
    this.#endWaits = this.#bodyEnded;
    return this.#held.add(body, this.#bodyEnded);
  }

  /** A buffered body is with the gateway, too; here it is held only for as long as it is read. */
  #takeWhole(body: Uint8Array): void {
    const { budget, counters, options } = this.#context;
    this.#replyTo = ReplyTo.requestBody;
    if (body.length > options.bodyBytesMax) {
      this.#aboveCap();
    } else if (budget.usedBytes + body.length > budget.bytesMax) {
      counters.add(Counter.body_memory_full);
      this.#pickWithoutBody();
    } else {
      this.#pick.sawBody(body);
      this.#reader?.feed(this.#held.add(body, true));
      this.#startDeciding();
    }
  }

  #aboveCap(): void {
    if (this.#context.options.bodyAboveMax === 'refuse') this.refuse('too_large', '', 0);
    else this.#pickWithoutBody();
  }

  #startDeciding(): void {
    this.#state = 'deciding';
    if (this.#reader === undefined) this.#decide();
    else this.#reader.finish(() => this.#decide());
  }

  #pickWithoutBody(): void {
    this.#context.counters.add(Counter.picks_without_body);
    this.#reader?.close();
    this.#reader = undefined;
    this.#decide();
  }

  /**
   * All that the pick needs is there; where flow control is on, its turn may be to come. Runs from
   * messages, timers and the body reader alike, so an error must not leave it.
   */
  #decide(): void {
    this.#state = 'deciding';
    this.#context.waiting.delete(this);
    try {
      const joined = this.#pick.join();
      if (joined !== undefined) this.#picked(joined);
      else if (!this.#turn.ask(this.#pick, this.#reader?.fields, this.#held.bytes)) this.turnCame();
    } catch (error) {
      this.#fault(error);
    }
  }

  /** Runs from the queue, so an error must not leave it. */
  turnCame(): void {
    try {
      const destination = this.#pick.make(this.#reader?.fields);
      if (destination !== undefined) {
        this.#picked(destination);
      } else {
        const { status, reason, retryAfterS } = this.#context.pick;
        this.refuse(status as Exclude<typeof status, 'picked'>, reason, retryAfterS);
      }
    } catch (error) {
      this.#fault(error);
    }
  }

  turnRefused(outcome: Exclude<WaitOutcome, 'dispatched'>, retryAfterS: number): void {
    this.refuse(kindOfOutcome(outcome), outcome, retryAfterS);
  }

  #fault(error: unknown): void {
    this.#context.counters.add(Counter.handler_errors);
    this.#context.log.fault('pick', error);
    this.refuse('error', '', 0);
  }

  #picked(destination: string): void {
    this.#state = 'picked';
    this.#onPicked(destination);
    this.#stream.send(this.#context.replies.get(this.#replyTo, destination));
    this.#forgetFacts();
    if (!this.mode.sendsAhead) this.#held.clear();
    this.flush();
  }

  /** Something of the body, if only its end, is held. */
  get #waits(): boolean {
    return !this.#held.isEmpty || this.#endWaits;
  }

  /** Gives held bytes back, and with the last of them the end, if it is known. */
  #echo(bytes: Uint8Array): void {
    const ends = this.#endWaits && this.#held.isEmpty;
    if (ends) this.#endWaits = false;
    this.#context.counters.add(Counter.body_bytes_echoed, bytes.length);
    echoBytes(this.#stream, ReplyTo.requestBody, bytes, ends);
  }

  #pass(message: ProcessingRequest): void {
    if (this.mode.takesBodyBack) {
      this.#context.counters.add(Counter.body_bytes_echoed, message.body.length);
      echoMessage(this.#stream, ReplyTo.requestBody, message, this.mode);
      return;
    }
    if (!this.mode.showsBody) this.#odd();
    this.#stream.send(noOpReply(ReplyTo.requestBody));
  }

  #odd(): void {
    this.#context.counters.add(Counter.unexpected_messages);
  }

  /** Drops what only the pick needed. May be called repeatedly. */
  #forgetFacts(): void {
    this.#context.waiting.delete(this);
    this.#reader?.close();
    this.#reader = undefined;
    this.#pick.forget();
  }

  #letGo(): void {
    this.#turn.leave();
    this.#forgetFacts();
    this.#held.clear();
    this.#endWaits = false;
  }
}
