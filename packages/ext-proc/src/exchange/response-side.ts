/**
 * The response half of an exchange: passes everything on at once and takes note of whose answer it
 * is, of the first token, the token count and the end.
 *
 * | mode                         | headers | each body message         | trailers |
 * |------------------------------|---------|---------------------------|----------|
 * | NONE                         | no-op   | (not sent)                | no-op    |
 * | STREAMED, BUFFERED, …PARTIAL | no-op   | no-op                     | no-op    |
 * | FULL_DUPLEX_STREAMED, GRPC   | no-op   | the same bytes, streamed  | no-op    |
 *
 * The response ends with the first of: `end_of_stream` on headers or body, trailers. A body message
 * after that is a repeat and is dropped (answered without effect where each needs an answer).
 */
import { BodyMode } from '../body-mode.ts';
import { Counter } from '../counters.ts';
import { header } from '../headers.ts';
import { echoMessage } from '../protobuf/echo.ts';
import type { HeaderList } from '../protobuf/header-list.ts';
import type { ProcessingRequest } from '../protobuf/processing-request.ts';
import { headersReply, noOpReply, ReplyTo } from '../protobuf/processing-response.ts';
import {
  AnswerOrigin,
  originOf,
  statusOf,
  tellsOfFailedUpstream,
} from '../response/answer-origin.ts';
import { FirstDelta } from '../response/first-delta.ts';
import { UsageFinder } from '../response/usage-finder.ts';
import type { ExchangeStream } from '../transport/stream.ts';
import type { ExchangeContext } from './context.ts';
import { responseCodeDetails, servedEndpoint, upstreamAddress } from './gateway-hints.ts';
import type { Reservation } from './reservation.ts';

export class ResponseSide {
  readonly #context: ExchangeContext;
  readonly #stream: ExchangeStream;
  readonly #reservation: Reservation;
  mode: BodyMode = BodyMode.none;
  /** Where the request was sent, '' before the pick. */
  destination = '';
  #usage: UsageFinder | undefined;
  /** Until the first token; undefined as well for answers that have none to show. */
  #firstDelta: FirstDelta | undefined;
  /** A gateway's own 503, whose body may tell why. */
  #isUnexplained = false;
  #isOpaque = false;
  #started = false;
  #ended = false;

  constructor(context: ExchangeContext, stream: ExchangeStream, reservation: Reservation) {
    this.#context = context;
    this.#stream = stream;
    this.#reservation = reservation;
  }

  get started(): boolean {
    return this.#started;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Without a response body to look at, the headers are all there is to see of the end. */
  get over(): boolean {
    return this.#ended || (this.#started && !this.mode.showsBody);
  }

  get outputTokens(): number {
    return this.#usage?.outputTokens ?? -1;
  }

  headers(message: ProcessingRequest): void {
    this.#started = true;
    this.#reservation.responding();
    const named = servedEndpoint(message);
    const served = named ?? upstreamAddress(message);
    const status = statusOf(message.headers);
    const origin = originOf(message.headers, responseCodeDetails(message), named !== undefined);
    if (origin === AnswerOrigin.upstream) {
      if (served !== undefined && this.destination !== '') this.#compare(served);
    } else this.#neverArrived(origin, status, message.headers);
    if (this.#context.options.conformance && served !== undefined) {
      const set = [[header.conformanceServed, served]] as const;
      this.#stream.send(headersReply(ReplyTo.responseHeaders, set, []));
    } else {
      this.#stream.send(noOpReply(ReplyTo.responseHeaders));
    }
    if (message.endOfStream) this.#end();
    else if (origin === AnswerOrigin.upstream && !(status >= 300)) this.#watch(message.headers);
  }

  body(message: ProcessingRequest): void {
    const { body, endOfStream } = message;
    const echo = this.mode.takesBodyBack;
    if (this.#ended) {
      this.#context.counters.add(Counter.repeated_body_ends);
      if (!echo) this.#stream.send(noOpReply(ReplyTo.responseBody));
      return;
    }
    if (echo) {
      echoMessage(this.#stream, ReplyTo.responseBody, message, this.mode);
      this.#context.counters.add(Counter.body_bytes_echoed, body.length);
    } else {
      this.#stream.send(noOpReply(ReplyTo.responseBody));
    }
    if (body.length > 0) this.#look(body);
    if (endOfStream) this.#end();
  }

  trailers(): void {
    this.#stream.send(noOpReply(ReplyTo.responseTrailers));
    this.#end();
  }

  /** The gateway answered by itself: what the pick entered into the accounts is not so. */
  #neverArrived(origin: AnswerOrigin, status: number, headers: HeaderList | undefined): void {
    if (origin === AnswerOrigin.failedUpstream) {
      this.#context.counters.add(Counter.upstream_failures);
      this.#reservation.upstreamFailed();
      return;
    }
    this.#context.counters.add(Counter.gateway_answers);
    this.#reservation.withdraw();
    this.#isUnexplained =
      status === 503 &&
      headers?.get(header.overloaded) === undefined &&
      headers?.get(header.rateLimited) === undefined;
  }

  #watch(headers: HeaderList | undefined): void {
    // What is compressed cannot be looked into; its first bytes are close to the first token.
    this.#isOpaque = isEncoded(headers) || isGrpc(headers);
    if (this.#isOpaque) return;
    this.#firstDelta = new FirstDelta();
    this.#usage = new UsageFinder();
  }

  #look(body: Uint8Array): void {
    if (this.#isOpaque) this.#reservation.firstToken();
    if (this.#isUnexplained) {
      this.#isUnexplained = false;
      if (!tellsOfFailedUpstream(body)) return;
      this.#context.counters.add(Counter.upstream_failures);
      this.#reservation.upstreamFailed();
    }
    this.#usage?.feed(body);
    if (this.#firstDelta === undefined) return;
    this.#firstDelta.feed(body);
    if (!this.#firstDelta.found) return;
    this.#firstDelta = undefined;
    this.#reservation.firstToken();
  }

  #compare(served: string): void {
    const { counters, log } = this.#context;
    const first = this.destination.split(',', 1)[0];
    if (served === first) {
      counters.add(Counter.served_as_picked);
      return;
    }
    counters.add(Counter.served_elsewhere);
    const pool = this.#reservation.servedBy(served);
    if (pool === undefined || pool === this.#reservation.poolName) return;
    counters.add(Counter.served_by_other_pool);
    log.servedByOtherPool(this.#reservation.poolName, pool, this.#stream);
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#reservation.release(this.outputTokens, false);
  }
}

function isGrpc(headers: HeaderList | undefined): boolean {
  return headers?.get(header.contentType)?.startsWith('application/grpc') ?? false;
}

function isEncoded(headers: HeaderList | undefined): boolean {
  const encoding = headers?.get(header.contentEncoding);
  return encoding !== undefined && encoding !== '' && encoding !== 'identity';
}
