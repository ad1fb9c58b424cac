/**
 * One sender's stream to one collector replica.
 *
 * ```
 *   waiting ──timer──> opening ──first answer──> open ──ended, or unconfirmed too long──> waiting
 * ```
 *
 * The receiver confirms what it took. Frames that stay unconfirmed for `lateMs` tell that it, or
 * the way to it, is stalled: from then on frames are dropped, so that what waits in sockets is
 * never older than that. After `deadMs` the stream is given up and made again.
 *
 * No HTTP/2 pings are sent: the confirmations show life, and a server that counts pings has
 * nothing to object to.
 */
import { type ChannelOptions, Client, type ClientDuplexStream } from '@grpc/grpc-js';
import type { Backoff } from '@leadsman/service/backoff';
import { frameBytesMax } from '@leadsman/wire';
import { pushMethod } from './feed-service.ts';
import type { PushCounters } from './push-counters.ts';
import type { ClientTls } from './tls.ts';

export interface PushBounds {
  /** Unconfirmed longer: nothing more is sent, ms. */
  lateMs: number;
  /** Unconfirmed longer: the stream is made again, ms. */
  deadMs: number;
  /** Unconfirmed bytes; more are not sent. */
  pendingBytesMax: number;
}

export interface PushPeerOptions {
  /** `ip:port`, IPv6 in brackets. */
  address: string;
  /** Name in the server's certificate. */
  serverName: string;
  tls: ClientTls;
  backoff: Backoff;
  bounds: PushBounds;
  counters: PushCounters;
  nowMs: () => number;
  onEnd: (reason: string) => void;
  onState: () => void;
}

/** How long the last frames may take on their way when the sender stops, ms. */
const closeMs = 500;

type Push = ClientDuplexStream<Uint8Array, number>;

export class PushPeer {
  readonly #options: PushPeerOptions;
  #client: Client | undefined;
  #call: Push | undefined;
  #open = false;
  #closed = false;
  #onClosed: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #watchdog: NodeJS.Timeout | undefined;
  #frames = 0;
  #bytes = 0;
  /** What one confirmation will vouch for, and since when it is awaited; NaN: none awaited. */
  #markFrames = 0;
  #markBytes = 0;
  #markMs = Number.NaN;
  #confirmedBytes = 0;

  constructor(options: PushPeerOptions) {
    this.#options = options;
    this.#begin(0);
  }

  get open(): boolean {
    return this.#open;
  }

  /** Sends, or returns `false` after counting a drop. */
  send(frame: Uint8Array): boolean {
    const { bounds, counters } = this.#options;
    const call = this.#call;
    if (!this.#open || call === undefined) {
      counters.droppedOffline++;
      return false;
    }
    const nowMs = this.#options.nowMs();
    if (
      nowMs - this.#markMs > bounds.lateMs ||
      this.#bytes - this.#confirmedBytes + frame.length > bounds.pendingBytesMax
    ) {
      counters.droppedStalled++;
      return false;
    }
    call.write(frame);
    this.#frames++;
    this.#bytes += frame.length;
    counters.sent++;
    counters.sentBytes += frame.length;
    if (Number.isNaN(this.#markMs)) this.#mark(nowMs);
    return true;
  }

  /** Resolves when the collector has read all, or after {@link closeMs}. Call once. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearInterval(this.#watchdog);
    const call = this.#call;
    if (call === undefined) return this.#client?.close();
    const ended = new Promise<void>((resolve) => {
      this.#onClosed = resolve;
    });
    // The server ends its side when it has read ours to the end; a dead one never does.
    const timer = setTimeout(() => call.cancel(), closeMs);
    if (this.#open) call.end();
    else call.cancel();
    await ended;
    clearTimeout(timer);
  }

  #mark(nowMs: number): void {
    this.#markFrames = this.#frames;
    this.#markBytes = this.#bytes;
    this.#markMs = nowMs;
  }

  #begin(waitMs: number): void {
    this.#timer = setTimeout(() => {
      this.#dial().catch((error: unknown) => this.#ended(undefined, String(error)));
    }, waitMs);
  }

  async #dial(): Promise<void> {
    const { address, serverName, tls } = this.#options;
    const options: ChannelOptions = {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.enable_retries': 0,
      'grpc.default_authority': serverName,
      'grpc.max_send_message_length': frameBytesMax + 64,
      'grpc.initial_reconnect_backoff_ms': 1_000,
      ...(tls.secured ? { 'grpc.ssl_target_name_override': serverName } : {}),
    };
    const [credentials, metadata] = await Promise.all([tls.credentials(), tls.metadata()]);
    const client = new Client(address, credentials, options);
    if (this.#closed) return client.close();
    this.#client = client;
    const call: Push = client.makeBidiStreamRequest(
      pushMethod.path,
      pushMethod.requestSerialize,
      pushMethod.responseDeserialize,
      metadata,
    );
    this.#call = call;
    this.#frames = 0;
    this.#bytes = 0;
    this.#confirmedBytes = 0;
    // The answer to the opening itself is awaited like that to a frame.
    this.#mark(this.#options.nowMs());
    call.on('data', (frames: number) => this.#confirmed(frames));
    call.on('error', (error: Error) => this.#ended(call, error.message));
    call.on('end', () => this.#ended(call, 'ended by the collector'));
    this.#watchdog = setInterval(() => {
      if (this.#options.nowMs() - this.#markMs > this.#options.bounds.deadMs) {
        this.#ended(call, 'no answer');
      }
    }, 250);
  }

  #confirmed(frames: number): void {
    if (!this.#open) {
      this.#open = true;
      this.#options.backoff.reset();
      this.#options.onState();
    }
    if (frames < this.#markFrames) return;
    this.#confirmedBytes = this.#markBytes;
    this.#markMs = Number.NaN;
    if (this.#frames > this.#markFrames) this.#mark(this.#options.nowMs());
  }

  #ended(call: Push | undefined, reason: string): void {
    if (call !== this.#call) return;
    clearInterval(this.#watchdog);
    const wasOpen = this.#open;
    this.#open = false;
    this.#call = undefined;
    // Cancelling makes one more error event, which the check above ignores.
    call?.cancel();
    this.#client?.close();
    this.#client = undefined;
    this.#onClosed?.();
    if (this.#closed) return;
    if (wasOpen) this.#options.counters.reconnects++;
    else this.#options.counters.connectErrors++;
    this.#begin(this.#options.backoff.next());
    this.#options.onEnd(reason);
    if (wasOpen) this.#options.onState();
  }
}
