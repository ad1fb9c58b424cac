/**
 * The HTTP/2 side of the ext_proc port: listeners, connections, their limits, and the drain.
 *
 * Node's guard against rapid resets is lifted: a gateway ends nearly every exchange by a reset, and
 * the guard would end the whole connection after a thousand of them. What a hostile peer could do
 * with resets is bounded by the limits on streams and connections instead.
 *
 * Nothing here throws or logs per connection: probes that open TLS without ALPN, half-open
 * connections and protocol errors are counted and closed.
 */
import {
  constants,
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import { Counter, type Counters } from '../counters.ts';
import type { TransportLimits } from './limits.ts';
import { connectionWindowBytes, sessionMemoryMb, streamWindowBytes } from './limits.ts';
import { SessionTable } from './session-table.ts';

export interface TlsIdentity {
  /** PEM. */
  key: string;
  /** PEM, leaf first. */
  cert: string;
}

export interface ListenAddress {
  host: string;
  /** 0 takes a free port. */
  port: number;
  /** Lets several workers listen on the same port. */
  reusePort: boolean;
}

export interface Http2ServerOptions {
  tls: TlsIdentity | undefined;
  limits: TransportLimits;
  counters: Counters;
  nowMs: () => number;
  onStream: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, localPort: number) => void;
}

/** No limit: the counter never runs dry. */
const resetsUnlimited = 0x7fffffff;

const protocolOptions = (limits: TransportLimits) => ({
  settings: {
    initialWindowSize: streamWindowBytes,
    maxConcurrentStreams: limits.streamsPerConnectionMax,
    enablePush: false,
  },
  maxSessionMemory: sessionMemoryMb,
  // Calls that a draining or full connection turns away must not end it for the others.
  maxSessionRejectedStreams: 100_000,
  streamResetBurst: resetsUnlimited,
  streamResetRate: resetsUnlimited,
});

export class Http2Transport {
  readonly #options: Http2ServerOptions;
  readonly #servers: (Http2Server | Http2SecureServer)[] = [];
  readonly #sessions: SessionTable;

  constructor(options: Http2ServerOptions) {
    this.#options = options;
    this.#sessions = new SessionTable(options.limits, options.counters, options.nowMs);
  }

  get sessionCount(): number {
    return this.#sessions.count;
  }

  /** Listens on one address and resolves to its port. Rejects when it cannot. */
  async listen(address: ListenAddress): Promise<number> {
    const server = this.#createServer();
    this.#servers.push(server);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ ...address, exclusive: true }, () => {
        server.off('error', reject);
        server.on('error', () => this.#options.counters.add(Counter.session_errors));
        resolve();
      });
    });
    return (server.address() as AddressInfo).port;
  }

  /** New connections use this certificate from now on; open ones keep theirs. */
  setIdentity(identity: TlsIdentity): void {
    for (const server of this.#servers) {
      if ('setSecureContext' in server) server.setSecureContext(identity);
    }
  }

  /** Closes connections that outstayed a timeout. Called every `sweepIntervalMs`. */
  sweep(): void {
    this.#sessions.sweep();
  }

  /** Sends peers elsewhere and lets open calls finish; see `SessionTable.drain`. */
  drain(): void {
    // HTTP/2's own `close` would end the sessions before their peers know.
    for (const server of this.#servers) stopListening(server);
    this.#sessions.drain();
  }

  /** Ends every connection now. */
  async close(): Promise<void> {
    const closed = this.#servers.map(
      (server) => new Promise<void>((resolve) => stopListening(server, resolve)),
    );
    this.#sessions.destroyAll();
    await Promise.all(closed);
  }

  #createServer(): Http2Server | Http2SecureServer {
    const { tls, limits, counters } = this.#options;
    const common = protocolOptions(limits);
    const server =
      tls === undefined
        ? createServer(common)
        : createSecureServer({ ...common, ...secureOptions(tls, limits) });
    server.on('session', (session: ServerHttp2Session) => this.#onSession(session));
    server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      this.#onStream(stream, headers);
    });
    server.on('sessionError', () => counters.add(Counter.session_errors));
    server.on('tlsClientError', () => counters.add(Counter.tls_failures));
    server.on('unknownProtocol', (socket: Socket) => {
      counters.add(Counter.tls_failures);
      socket.destroy();
    });
    return server;
  }

  #onSession(session: ServerHttp2Session): void {
    if (!this.#sessions.add(session)) return;
    session.setLocalWindowSize(connectionWindowBytes);
  }

  #onStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    stream.on('error', noop);
    const session = stream.session;
    if (session === undefined || stream.destroyed) {
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
      return;
    }
    this.#sessions.callOpened(session);
    stream.once('close', () => this.#sessions.callClosed(session));
    this.#options.onStream(stream, headers, session.socket?.localPort ?? 0);
  }
}

function secureOptions(tls: TlsIdentity, limits: TransportLimits): SecureServerOptions {
  return {
    key: tls.key,
    cert: tls.cert,
    ALPNProtocols: ['h2'],
    allowHTTP1: false,
    handshakeTimeout: limits.handshakeTimeoutMs,
    minVersion: 'TLSv1.2',
  };
}

/** Calls back when the last connection has ended, at once if the server was stopped before. */
function stopListening(server: Http2Server | Http2SecureServer, done?: () => void): void {
  NetServer.prototype.close.call(server, done && (() => done()));
}

function noop(): void {
  // An error of a stream is followed by its `close`, which does the accounting.
}
