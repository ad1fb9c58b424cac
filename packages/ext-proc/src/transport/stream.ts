/**
 * The line between the exchange and whatever carries it. The exchange gets whole messages and
 * sends whole messages; flow control, framing, windows and resets stay on the other side, so that
 * a faster transport can be put there without touching the protocol.
 */

/** What the exchange may do with its stream. All calls after an end are ignored. */
export interface ExchangeStream {
  /** `:authority` of the call, as sent by the gateway. */
  readonly authority: string;
  /** The gateway's address, for the log; '' once the connection is lost. */
  readonly peer: string;
  /** The port that the call came in on. */
  readonly localPort: number;
  /** A metadata (request header) value of the call, by lower-case name. */
  metadata(name: string): string | undefined;
  /**
   * Queues one message, which must begin with `messageHeadroomBytes` free bytes. The transport
   * writes its frame header into them and keeps the buffer until it is sent.
   */
  send(message: Uint8Array): void;
  /** More is queued than should be: what can wait should wait for `drained`. */
  readonly backlogged: boolean;
  /** Reads no more messages, which the peer's window then holds back, until {@link resume}. */
  pause(): void;
  resume(): void;
  /** Ends the call well, after what is queued. */
  end(): void;
  /** Ends the call with a gRPC status, after what is queued. */
  fail(code: number, message: string): void;
}

/** What the transport tells the exchange. Never called again after `closed`. */
export interface ExchangeHandler {
  /**
   * One whole message. The bytes belong to the handler, but are part of a larger read buffer that
   * stays in memory as long as any view of it does.
   */
  message(bytes: Uint8Array): void;
  /** A message of so many bytes was announced, which is above the limit; it is being discarded. */
  oversized(bytes: number): void;
  /** Everything queued was sent, after something had to wait. */
  drained(): void;
  /** The gateway has no more messages. */
  halfClosed(): void;
  /** The call is over, whichever side ended it. Exactly once. */
  closed(): void;
}

/** gRPC status codes that this server gives. */
export const GrpcStatus = {
  ok: 0,
  cancelled: 1,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
} as const;
