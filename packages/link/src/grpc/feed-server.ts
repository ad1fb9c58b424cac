/**
 * Direct transport, collector's side: takes the streams of all senders, and serves watchers where
 * the collector gives a handler for them.
 *
 * Frames are handed on in the call that decoded them; there is no queue of our own. When the
 * process is slow, HTTP/2 flow control stops the senders, which then keep only what is newest.
 */
import { Server, type ServerDuplexStream, type ServerWritableStream, status } from '@grpc/grpc-js';
import {
  type CertificateLogger,
  RotatingCertificate,
  type TlsFiles,
} from '@leadsman/service/rotating-certificate';
import { formatHostPort, frameBytesMax } from '@leadsman/wire';
import type { FrameHandler, FrameSource } from '../frame-port.ts';
import { type Authorizer, bearerOf } from './bearer.ts';
import { feedService, type WatchRequest } from './feed-service.ts';
import { serverCredentials } from './tls.ts';

export type WatchCall = ServerWritableStream<WatchRequest, Uint8Array>;

export interface FeedServerOptions {
  host: string;
  /** 0: any. */
  port: number;
  /** A certificate and its key turn TLS on; a CA file asks clients for a certificate of it. */
  tls?: TlsFiles;
  logger?: CertificateLogger;
  /** Distance of two looks at the files, ms. */
  lookEveryMs?: number;
  /** Whom to serve, by the bearer token of a call; without it everybody. */
  authorize?: Authorizer;
  /** Serves `Feed/Watch`; without it watchers are told `UNIMPLEMENTED`. */
  watch?: (call: WatchCall) => void;
  /** Streams of senders at once; one per node or pod. */
  streamsMax?: number;
  /** How long a stop waits for calls to end, ms. */
  graceMs?: number;
}

export interface FeedServer extends FrameSource {
  /** Binds; returns the port. Rejects when that fails. */
  listen(): Promise<number>;
  readonly streams: number;
  readonly counters: Readonly<FeedServerCounters>;
}

export interface FeedServerCounters {
  frames: number;
  bytes: number;
  refusedStreams: number;
  /** Calls without a token that is believed. */
  refusedTokens: number;
  /** Streams that ended with an error: a sender that vanished, bytes that are no message. */
  failedStreams: number;
  /** Frames whose handler threw. */
  handlerErrors: number;
}

/** Confirmations of one stream, at most this often, ms. */
const confirmEveryMs = 100;

/** Builds the server; `start` gives the frames' handler, `listen` opens the port. */
export function grpcFrameServer(options: FeedServerOptions): FeedServer {
  return new PushServer(options);
}

type PushCall = ServerDuplexStream<Uint8Array, number>;

class PushServer implements FeedServer {
  readonly counters: FeedServerCounters = {
    frames: 0,
    bytes: 0,
    refusedStreams: 0,
    refusedTokens: 0,
    failedStreams: 0,
    handlerErrors: 0,
  };
  readonly #options: FeedServerOptions;
  readonly #server: Server;
  readonly #calls = new Set<PushCall>();
  #certificate: RotatingCertificate | undefined;
  #onFrame: FrameHandler | undefined;

  constructor(options: FeedServerOptions) {
    this.#options = options;
    this.#server = new Server({
      'grpc.max_receive_message_length': frameBytesMax + 64,
      // A peer that vanished without a word is noticed within 40 s.
      'grpc.keepalive_time_ms': 30_000,
      'grpc.keepalive_timeout_ms': 10_000,
    });
    this.#server.addService(feedService, {
      Push: (call: PushCall) => this.#admit(call, () => this.#push(call)),
      Watch: (call: WatchCall) => this.#admit(call, () => this.#watch(call)),
    });
  }

  get connected(): boolean {
    return this.#calls.size > 0;
  }

  get streams(): number {
    return this.#calls.size;
  }

  start(onFrame: FrameHandler): void {
    this.#onFrame ??= onFrame;
  }

  async listen(): Promise<number> {
    const { host, port, tls, logger, lookEveryMs } = this.#options;
    const { certFile, keyFile } = tls ?? {};
    if (certFile || keyFile) {
      this.#certificate = new RotatingCertificate({ files: tls ?? {}, logger, lookEveryMs });
      await this.#certificate.read();
      this.#certificate.start();
    }
    const credentials = serverCredentials(this.#certificate, tls);
    return new Promise((resolve, reject) => {
      this.#server.bindAsync(formatHostPort(host, port), credentials, (error, bound) => {
        if (error === null) resolve(bound);
        else reject(error);
      });
    });
  }

  async close(): Promise<void> {
    // Senders have no reason to end by themselves: they are told to go elsewhere.
    for (const call of this.#calls) call.end();
    await this.#certificate?.stop();
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        this.#server.forceShutdown();
        resolve();
      }, this.#options.graceMs ?? 1_000);
      this.#server.tryShutdown(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Serves a call whose token is believed. Its messages wait meanwhile, in the sender's window. */
  #admit(call: PushCall | WatchCall, serve: () => void): void {
    const { authorize } = this.#options;
    if (authorize === undefined) {
      serve();
      return;
    }
    // A call that fails before it is served has nobody else to hear of it.
    const ignore = () => undefined;
    call.on('error', ignore);
    void authorize(bearerOf(call.metadata)).then((believed) => {
      call.off('error', ignore);
      if (call.cancelled) return;
      if (believed) {
        serve();
        return;
      }
      this.counters.refusedTokens++;
      call.emit('error', { code: status.UNAUTHENTICATED, details: 'no token that is believed' });
    });
  }

  #push(call: PushCall): void {
    if (this.#calls.size >= (this.#options.streamsMax ?? 20_000)) {
      this.counters.refusedStreams++;
      call.emit('error', { code: status.RESOURCE_EXHAUSTED, details: 'too many senders' });
      return;
    }
    this.#calls.add(call);
    let frames = 0;
    let confirmed = 0;
    let timer: NodeJS.Timeout | undefined;
    const confirm = () => {
      timer = undefined;
      // The stop of this server ends calls on which a confirmation may still be due.
      if (call.writableEnded) return;
      confirmed = frames;
      call.write(frames);
    };
    const end = () => {
      clearTimeout(timer);
      this.#calls.delete(call);
    };
    call.write(0);
    call.on('data', (frame: Uint8Array) => {
      frames++;
      this.counters.frames++;
      this.counters.bytes += frame.length;
      try {
        this.#onFrame?.(frame, 0);
      } catch {
        // As over NATS: one frame that is not taken must not end the stream of all others.
        this.counters.handlerErrors++;
      }
      timer ??= setTimeout(confirm, confirmEveryMs);
    });
    call.on('end', () => {
      if (confirmed < frames && !call.writableEnded) call.write(frames);
      call.end();
      end();
    });
    call.on('error', () => {
      this.counters.failedStreams++;
      end();
    });
    call.on('cancelled', end);
    call.on('close', end);
  }

  #watch(call: WatchCall): void {
    if (this.#options.watch !== undefined) this.#options.watch(call);
    else call.emit('error', { code: status.UNIMPLEMENTED, details: 'this collector is no view' });
  }
}
