/**
 * One gRPC call on one HTTP/2 stream: framing in, framing out, status at the end.
 *
 * Life of a call:
 *   open ── end() / fail() ──> ending (queue drains, then trailers) ──> closed
 *     └───────────── reset, connection lost ─────────────────────────────^
 *
 * The response headers go out with the first message, in the same flush. When the peer does not
 * read, messages wait in a queue and reading from the peer is paused, so what a call holds stays
 * near `sendQueueBytesMax` plus what one inbound message can make the exchange send. Every call
 * into Node's stream is guarded: the peer may reset the stream between any two statements.
 */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { ByteBudget } from '../byte-budget.ts';
import { Counter, type Counters } from '../counters.ts';
import { Deframer } from './deframer.ts';
import { sendQueueBytesMax } from './limits.ts';
import { type ExchangeHandler, type ExchangeStream, GrpcStatus } from './stream.ts';

const contentType = 'application/grpc';
const responseHeaders = { ':status': 200, 'content-type': contentType };
const respondOptions = { waitForTrailers: true };

/** What Node and this process keep for an open call beside its bytes, at least. */
export const callBytes = 4_096;

/** Larger messages are not worth the copy that joining them takes. */
const gatherBytesMax = 16_384;

export interface CallOptions {
  messageBytesMax: number;
  budget: ByteBudget;
  localPort: number;
  counters: Counters;
  onClosed: (call: GrpcCall) => void;
}

export class GrpcCall implements ExchangeStream {
  readonly authority: string;
  readonly localPort: number;
  /** When the call came in, for the first-message timeout; see `CallTable`. */
  openedAtMs = 0;
  /** Whether a message has arrived. */
  spoken = false;
  readonly #stream: ServerHttp2Stream;
  readonly #headers: IncomingHttpHeaders;
  readonly #options: CallOptions;
  readonly #deframer: Deframer;
  #handler: ExchangeHandler | undefined;
  #responded = false;
  #ending = false;
  #closed = false;
  #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  #gathered: Uint8Array[] = [];
  #gathering = false;
  #blocked = false;
  /** Charged for the call and for bytes that Node holds for it, in and out. */
  #chargedBytes = callBytes;
  /** Progress of the message that is under way at the last two looks; see {@link stalled}. */
  #partialBytes = 0;
  #partialSinceMs = 0;
  /** The exchange wants no more for now. */
  #held = false;
  #status: number = GrpcStatus.ok;
  #statusText = '';

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, options: CallOptions) {
    this.#stream = stream;
    this.#headers = headers;
    this.#options = options;
    this.authority = headers[':authority'] ?? headers.host ?? '';
    this.localPort = options.localPort;
    this.#deframer = new Deframer(
      {
        message: (bytes) => {
          this.spoken = true;
          this.#handler?.message(bytes);
        },
        oversized: (bytes) => {
          this.spoken = true;
          this.#handler?.oversized(bytes);
        },
        compressed: () => {
          options.counters.add(Counter.compressed_messages);
          this.fail(GrpcStatus.unimplemented, 'compressed messages are not supported');
        },
      },
      options.messageBytesMax,
      options.budget,
    );
    options.budget.charge(callBytes);
    stream.on('wantTrailers', () => this.#sendTrailers());
    stream.on('close', () => this.#onClose());
  }

  /** Starts delivering to `handler`. Once, right after construction. */
  start(handler: ExchangeHandler): void {
    this.#handler = handler;
    const stream = this.#stream;
    stream.on('data', (chunk: Buffer) => this.#onData(chunk));
    stream.on('end', () => {
      if (!this.#ending) this.#handler?.halfClosed();
    });
    stream.on('drain', () => this.#drain());
  }

  metadata(name: string): string | undefined {
    const value = this.#headers[name];
    return Array.isArray(value) ? value[0] : value;
  }

  get peer(): string {
    return this.#stream.session?.socket?.remoteAddress ?? '';
  }

  get backlogged(): boolean {
    return this.#queuedBytes > sendQueueBytesMax;
  }

  /** Charges the bytes that Node holds for the call as they are now. */
  recharge(): void {
    if (this.#closed) return;
    const { writableLength, readableLength } = this.#stream;
    this.#chargeTo(callBytes + writableLength + readableLength);
  }

  /** Whether a message has been begun and nothing of it has come for `timeoutMs`, though it could. */
  stalled(nowMs: number, timeoutMs: number): boolean {
    const bytes = this.#deframer.partialBytes;
    if (bytes === 0 || bytes !== this.#partialBytes || this.#stream.isPaused() || this.#ending) {
      this.#partialBytes = bytes;
      this.#partialSinceMs = nowMs;
      return false;
    }
    return nowMs - this.#partialSinceMs > timeoutMs;
  }

  /** Answers what is no gRPC call with an HTTP status. Instead of `start`. */
  turnAway(httpStatus: number): void {
    this.#ending = true;
    this.#responded = true;
    try {
      this.#stream.respond({ ':status': httpStatus }, { endStream: true });
      this.#closeOurs();
    } catch {
      // As in #respond.
    }
    this.#stream.resume();
  }

  send(message: Uint8Array): void {
    if (this.#ending || this.#closed) return;
    const length = message.length - 5;
    message[0] = 0;
    message[1] = length >>> 24;
    message[2] = length >>> 16;
    message[3] = length >>> 8;
    message[4] = length;
    if (this.#blocked) {
      this.#queue.push(message);
      this.#queuedBytes += message.length;
      this.#options.budget.charge(message.length);
      if (this.backlogged) this.#stream.pause();
      return;
    }
    if (this.#gathering && message.length <= gatherBytesMax) {
      this.#gathered.push(message);
      return;
    }
    this.#writeGathered();
    this.#write(message);
  }

  pause(): void {
    if (this.#ending || this.#closed) return;
    this.#held = true;
    this.#stream.pause();
  }

  resume(): void {
    if (!this.#held) return;
    this.#held = false;
    if (!this.backlogged) this.#stream.resume();
  }

  end(): void {
    this.fail(GrpcStatus.ok, '');
  }

  fail(code: number, message: string): void {
    if (this.#ending || this.#closed) return;
    this.#writeGathered();
    this.#ending = true;
    this.#status = code;
    this.#statusText = message;
    this.#deframer.stop();
    if (!this.#blocked) this.#finish();
    this.#stream.resume();
  }

  #chargeTo(bytes: number): void {
    this.#options.budget.charge(bytes - this.#chargedBytes);
    this.#chargedBytes = bytes;
  }

  #onData(chunk: Buffer): void {
    if (this.#ending) return;
    this.#gathering = true;
    try {
      this.#deframer.feed(chunk);
    } finally {
      this.#gathering = false;
      this.#writeGathered();
    }
  }

  /** The small replies to what came in one read go out in one write. */
  #writeGathered(): void {
    const gathered = this.#gathered;
    if (gathered.length === 0) return;
    this.#gathered = [];
    if (gathered.length === 1) this.#write(gathered[0]!);
    else this.#write(Buffer.concat(gathered));
  }

  #write(message: Uint8Array): void {
    const stream = this.#stream;
    if (stream.destroyed || stream.writableEnded) return;
    if (!this.#responded && !this.#respond()) return;
    if (!stream.write(message)) {
      this.#blocked = true;
      this.recharge();
    }
  }

  #respond(): boolean {
    this.#responded = true;
    try {
      this.#stream.respond(responseHeaders, respondOptions);
      return true;
    } catch {
      // The stream or its session ended since; `close` follows.
      return false;
    }
  }

  #drain(): void {
    this.#blocked = false;
    this.recharge();
    let sent = 0;
    while (sent < this.#queue.length && !this.#blocked) {
      const message = this.#queue[sent++]!;
      this.#queuedBytes -= message.length;
      this.#options.budget.give(message.length);
      this.#write(message);
    }
    this.#queue = sent === this.#queue.length ? [] : this.#queue.slice(sent);
    if (this.#blocked) return;
    if (this.#ending) {
      this.#finish();
      return;
    }
    this.#handler?.drained();
    if (!this.backlogged && !this.#held && this.#stream.isPaused()) this.#stream.resume();
  }

  #finish(): void {
    const stream = this.#stream;
    if (stream.destroyed || stream.writableEnded) return;
    if (this.#responded) {
      stream.end();
      return;
    }
    this.#responded = true;
    try {
      stream.respond({ ...responseHeaders, ...this.#trailers() }, { endStream: true });
      this.#closeOurs();
    } catch {
      // As in #respond.
    }
  }

  #sendTrailers(): void {
    try {
      this.#stream.sendTrailers(this.#trailers());
      this.#closeOurs();
    } catch {
      // As in #respond.
    }
  }

  /**
   * Tells a peer that is still sending to stop: our answer is complete. Not before the answer is
   * out, since a reset takes what is still queued with it.
   */
  #closeOurs(): void {
    const stream = this.#stream;
    setImmediate(() => {
      if (!stream.destroyed && !stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
    });
  }

  #trailers(): Record<string, string> {
    const trailers: Record<string, string> = { 'grpc-status': String(this.#status) };
    if (this.#statusText !== '') trailers['grpc-message'] = encodeURIComponent(this.#statusText);
    return trailers;
  }

  #onClose(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#chargeTo(0);
    if (this.#stream.rstCode !== constants.NGHTTP2_NO_ERROR) {
      this.#options.counters.add(Counter.exchanges_cancelled);
    }
    this.#deframer.stop();
    this.#options.budget.give(this.#queuedBytes);
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#gathered = [];
    const handler = this.#handler;
    this.#handler = undefined;
    this.#options.onClosed(this);
    handler?.closed();
  }
}
