/**
 * The response half of an exchange: passes everything on at once and takes note of the first
 * token, the token count and the end.
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
import { BodyMode, echoes } from '../body-mode.ts';
import { Counter } from '../counters.ts';
import { echoMessage } from '../protobuf/echo.ts';
import type { HeaderList } from '../protobuf/header-list.ts';
import type { ProcessingRequest } from '../protobuf/processing-request.ts';
import { headersReply, noOpReply, ReplyTo } from '../protobuf/processing-response.ts';
import { UsageFinder } from '../response/usage-finder.ts';
import type { ExchangeStream } from '../transport/stream.ts';
import type { ExchangeContext } from './context.ts';
import { conformanceServedHeader, servedEndpoint } from './gateway-hints.ts';
import type { Reservation } from './reservation.ts';

export class ResponseSide {
  readonly #context: ExchangeContext;
  readonly #stream: ExchangeStream;
  readonly #reservation: Reservation;
  mode: BodyMode = BodyMode.none;
  /** Where the request was sent, '' before the pick. */
  destination = '';
  #usage: UsageFinder | undefined;
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
    return this.#ended || (this.#started && this.mode === BodyMode.none);
  }

  get outputTokens(): number {
    return this.#usage?.outputTokens ?? -1;
  }

  headers(message: ProcessingRequest): void {
    this.#started = true;
    this.#reservation.responding();
    const served = servedEndpoint(message);
    if (served !== undefined && this.destination !== '') this.#compare(served);
    if (this.#context.options.conformance && served !== undefined) {
      const set = [[conformanceServedHeader, served]] as const;
      this.#stream.send(headersReply(ReplyTo.responseHeaders, set, []));
    } else {
      this.#stream.send(noOpReply(ReplyTo.responseHeaders));
    }
    if (message.endOfStream) this.#end();
    else if (this.mode === BodyMode.none) this.#reservation.firstToken();
    else if (!isEncoded(message.headers)) this.#usage = new UsageFinder();
  }

  body(message: ProcessingRequest): void {
    const { body, endOfStream } = message;
    const echo = echoes(this.mode);
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
    if (body.length > 0) {
      this.#reservation.firstToken();
      this.#usage?.feed(body);
    }
    if (endOfStream) this.#end();
  }

  trailers(): void {
    this.#stream.send(noOpReply(ReplyTo.responseTrailers));
    this.#end();
  }

  #compare(served: string): void {
    const first = this.destination.split(',', 1)[0];
    if (served === first) {
      this.#context.counters.add(Counter.served_as_picked);
      return;
    }
    this.#context.counters.add(Counter.served_elsewhere);
    this.#reservation.servedBy(served);
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#reservation.release(this.outputTokens, false);
  }
}

function isEncoded(headers: HeaderList | undefined): boolean {
  const encoding = headers?.get('content-encoding');
  return encoding !== undefined && encoding !== '' && encoding !== 'identity';
}
