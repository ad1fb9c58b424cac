/**
 * Connections to NATS with a reading side of our own; all that is relied on inside the client library
 * is in this file, behind {@link dial}. Why: docs/adr/0013-reading-side-of-nats.md.
 *
 * ```
 *   socket ──onread──> splitter ──> onMessage         TLS: the same by 'data' events, as its
 *                          └─ other lines ─> library       records come decrypted from above
 * ```
 *
 * A collector gets thousands of messages a second, and the library parses byte by byte, wraps each
 * message in objects and hands it over by promises. Here the reading goes into one buffer that is
 * used again, past Node's streams, and messages are taken out before the library sees them.
 *
 * An attempt that fails leaves nothing behind: the library gives one up by looking away, and its
 * socket would stay open at a server that accepts and says nothing, or until the system's time-out
 * at one that does not even accept.
 *
 * Relied on, and checked by the test beside this file: `NatsConnectionImpl.connect` makes its
 * transport by the factory that was set last; `NodeTransport` dials by `dial`, calls `setupHandlers`
 * once the server has introduced itself and TLS is up, and takes what it parses from `yields` after
 * `signal` was resolved.
 */
import { createConnection, type Socket } from 'node:net';
import {
  type NatsConnection,
  NatsConnectionImpl,
  type NodeConnectionOptions,
  setTransportFactory,
} from '@nats-io/transport-node';
import { NodeTransport, nodeResolveHost } from '@nats-io/transport-node/lib/node_transport.js';
import { type MessageListener, MessageSplitter } from './message-splitter.ts';

export interface Dial {
  /** The connection; rejects with the client library's error. */
  readonly connection: Promise<NatsConnection>;
  /** Destroys the socket, connected or not. */
  discard(): void;
}

export type DialOptions = NodeConnectionOptions & {
  /** Gets the messages, in memory that is valid during the call; what is none goes to the library. */
  onMessage: MessageListener;
};

type TransportOptions = DialOptions & { onTransport: (transport: OwnTransport) => void };

/** Starts one attempt. `options.reconnect` must be false: the caller does that. */
export function dial(options: DialOptions): Dial {
  const transports = new Set<OwnTransport>();
  let discarded = false;
  const discard = () => {
    discarded = true;
    for (const transport of transports) transport.discard();
    transports.clear();
  };
  const watched: TransportOptions = {
    ...options,
    onTransport: (transport) => {
      transports.add(transport);
      if (discarded) transport.discard();
    },
  };
  // Set before each attempt: any other user of the library in this process sets its own. It is asked
  // later, for whatever attempt: what is this one's comes with the options.
  setTransportFactory({ factory: () => new OwnTransport(), dnsResolveFn: nodeResolveHost });
  const connection = NatsConnectionImpl.connect(watched).then(
    (connected) => {
      if (discarded) void connected.close();
      return connected;
    },
    (error: unknown) => {
      discard();
      throw error;
    },
  );
  return { connection, discard };
}

/** What one reading of a socket returns at most. */
const readBytesMax = 65_536;

class OwnTransport extends NodeTransport {
  /** The TCP socket; `socket` is this one, or the TLS socket on top of it. */
  #plain: Socket | undefined;
  #splitter: MessageSplitter | undefined;
  #discarded = false;

  override connect(
    target: { hostname: string; port: number; tlsName: string },
    options: NodeConnectionOptions,
  ): Promise<void> {
    (options as TransportOptions).onTransport(this);
    return super.connect(target, options);
  }

  override dial({ hostname, port }: { hostname: string; port: number }): Promise<Socket> {
    const buffer = new Uint8Array(readBytesMax);
    const callback = (bytes: number) => this.#onread(buffer.subarray(0, bytes));
    const dialled = Promise.withResolvers<Socket>();
    const socket = createConnection({
      host: hostname,
      port,
      noDelay: true,
      onread: { buffer, callback },
    });
    this.#plain = socket;
    let problem: Error | undefined;
    socket.once('error', (error) => {
      problem = error;
    });
    socket.once('close', () => dialled.reject(problem));
    socket.once('connect', () => {
      // From here on the library watches the socket.
      socket.removeAllListeners();
      dialled.resolve(socket);
    });
    if (this.#discarded) socket.destroy();
    return dialled.promise;
  }

  /** Ends a dial that is under way too. */
  override discard(): void {
    this.#discarded = true;
    super.discard();
    this.#plain?.destroy();
  }

  /** The library calls this once the server has introduced itself and TLS, if any, is up. */
  override setupHandlers(): void {
    super.setupHandlers();
    this.#splitter = new MessageSplitter((this.options as TransportOptions).onMessage, (bytes) => {
      this.yields.push(bytes.slice());
      this.signal.resolve();
    });
    // The library forgets its socket when it closes.
    const { socket } = this;
    if (!this.isEncrypted()) return;
    socket.removeAllListeners('data');
    socket.on('data', (bytes: Buffer) => this.#take(socket, bytes));
  }

  /** Always `true`: go on reading. */
  #onread(bytes: Uint8Array): boolean {
    const socket = this.#plain as Socket;
    if (this.#splitter !== undefined) this.#take(socket, bytes);
    else socket.emit('data', Buffer.from(bytes));
    return true;
  }

  #take(socket: Socket, bytes: Uint8Array): void {
    try {
      this.#splitter?.push(bytes);
    } catch (error) {
      // Bytes that no NATS server sends: this connection is worth nothing.
      socket.destroy(error as Error);
    }
  }
}
