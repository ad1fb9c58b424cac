/**
 * One ext_proc stream, which is one HTTP exchange as the gateway shows it: a request half and a
 * response half, each with a state machine of its own (their tables are in `request-side.ts` and
 * `response-side.ts`), joined by the reservation that the pick makes.
 *
 * | event                   | what happens                                                       |
 * |-------------------------|--------------------------------------------------------------------|
 * | first message           | fixes the body modes: `protocol_config`, else configuration; a     |
 * |                         | filter that keeps back what is needed is counted and logged        |
 * | observability message   | read by nobody: no answer, no pick, no accounting                  |
 * | no or unknown part      | counted, not answered: it can only be from a later protocol        |
 * | malformed message       | counted; the call ends with INVALID_ARGUMENT                       |
 * | an error of ours        | counted; a JSON 500 before the response began, else INTERNAL       |
 * | both halves ended       | the call is ended well, so that the gateway need not reset it      |
 * | closed, in any state    | the reservation is given back, exactly once                        |
 */
import { bodyModeOf } from '../body-mode.ts';
import { Counter } from '../counters.ts';
import { Part, type ProcessingRequest } from '../protobuf/processing-request.ts';
import { ProtobufError } from '../protobuf/reader.ts';
import { type ExchangeHandler, type ExchangeStream, GrpcStatus } from '../transport/stream.ts';
import type { ExchangeContext } from './context.ts';
import { RequestSide } from './request-side.ts';
import { Reservation } from './reservation.ts';
import { ResponseSide } from './response-side.ts';

export class Exchange implements ExchangeHandler {
  readonly #context: ExchangeContext;
  readonly #stream: ExchangeStream;
  readonly #reservation: Reservation;
  readonly #request: RequestSide;
  readonly #response: ResponseSide;
  #begun = false;
  #closed = false;

  constructor(context: ExchangeContext, stream: ExchangeStream) {
    this.#context = context;
    this.#stream = stream;
    this.#reservation = new Reservation(context);
    this.#response = new ResponseSide(context, stream, this.#reservation);
    this.#request = new RequestSide(context, stream, this.#reservation, (destination) => {
      this.#response.destination = destination;
    });
    context.counters.add(Counter.exchanges_started);
  }

  message(bytes: Uint8Array): void {
    if (this.#closed || this.#request.refused) return;
    const { decoded } = this.#context;
    try {
      decoded.decode(bytes);
      const isFirst = !this.#begun;
      if (isFirst) this.#begin(decoded);
      if (decoded.observability) return;
      if (isFirst) this.#checkFilter(decoded.part);
      this.#dispatch(decoded);
    } catch (error) {
      this.#onError(error);
    } finally {
      decoded.clear();
    }
  }

  oversized(): void {
    this.#context.counters.add(Counter.oversized_messages);
    if (!this.#begun) this.#stream.fail(GrpcStatus.resourceExhausted, 'message too large');
    else if (this.#response.started) this.#stream.fail(GrpcStatus.resourceExhausted, '');
    else this.#request.oversized();
  }

  drained(): void {
    if (this.#closed) return;
    this.#request.flush();
    this.#endIfOver();
  }

  halfClosed(): void {
    if (!this.#closed) this.#request.halfClosed();
  }

  closed(): void {
    if (this.#closed) return;
    this.#closed = true;
    const { counters, log } = this.#context;
    counters.add(Counter.exchanges_ended);
    const aborted = !this.#response.over;
    if (aborted && this.#reservation.held) {
      counters.add(Counter.exchanges_unfinished);
      if (!this.#response.started) log.endedWithoutResponse(this.#stream);
    }
    try {
      this.#reservation.release(this.#response.outputTokens, aborted);
    } catch (error) {
      counters.add(Counter.handler_errors);
      log.fault('release', error);
    } finally {
      this.#request.closed();
    }
  }

  #begin(message: ProcessingRequest): void {
    this.#begun = true;
    const { options } = this.#context;
    this.#request.mode = bodyModeOf(message.requestBodyMode) ?? options.requestBodyMode;
    this.#response.mode = bodyModeOf(message.responseBodyMode) ?? options.responseBodyMode;
  }

  /** Tells of a filter in the gateway that keeps from the picker what it needs. */
  #checkFilter(first: Part): void {
    const { counters, log } = this.#context;
    if (first !== Part.requestHeaders && first !== Part.none) {
      counters.add(Counter.exchanges_headers_unseen);
      log.misconfigured('request_header_mode', this.#stream);
    }
    if (!this.#response.mode.showsBody) {
      counters.add(Counter.exchanges_responses_unseen);
      log.misconfigured('response_body_mode', this.#stream);
    }
  }

  #dispatch(message: ProcessingRequest): void {
    switch (message.part) {
      case Part.requestHeaders:
        this.#request.headers(message);
        break;
      case Part.requestBody:
        this.#request.body(message);
        break;
      case Part.requestTrailers:
        this.#request.trailers();
        break;
      case Part.responseHeaders:
        this.#context.log.responded();
        this.#response.headers(message);
        break;
      case Part.responseBody:
        this.#response.body(message);
        break;
      case Part.responseTrailers:
        this.#response.trailers();
        break;
      default:
        this.#context.counters.add(Counter.unexpected_messages);
    }
    this.#endIfOver();
  }

  #endIfOver(): void {
    if (this.#response.ended && this.#request.ended) this.#stream.end();
  }

  #onError(error: unknown): void {
    if (error instanceof ProtobufError) {
      this.#context.counters.add(Counter.malformed_messages);
      this.#stream.fail(GrpcStatus.invalidArgument, error.message);
      return;
    }
    this.#context.counters.add(Counter.handler_errors);
    this.#context.log.fault('message', error);
    if (this.#response.started) this.#stream.fail(GrpcStatus.internal, 'picker error');
    else this.#request.refuse('error', '', 0);
  }
}
