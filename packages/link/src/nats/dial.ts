/**
 * One attempt to connect to one NATS server, which leaves nothing behind when it fails.
 *
 * The client library gives up an attempt by looking away: when its timer wins against a server
 * that accepts but does not speak, the socket stays open, and a process that retries for hours
 * collects them. So the transport of each attempt is kept at hand here and destroyed on failure.
 */
import type { Socket } from 'node:net';
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
  /** Shortest distance of two readings of the socket, ms; 0: read whatever comes at once. */
  readEveryMs: number;
  /** Gets the messages; what is none goes to the library. */
  onMessage: MessageListener;
};

type WatchedOptions = DialOptions & {
  onTransport?: (transport: NodeTransport) => void;
};

/**
 * What one reading of a socket returns at most; a full one means that more is waiting. TLS gives
 * its records one by one.
 */
const readBytesMax = 65_536;
const recordBytesMax = 16_384;

class WatchedTransport extends NodeTransport {
  override connect(
    target: { hostname: string; port: number; tlsName: string },
    options: NodeConnectionOptions,
  ): Promise<void> {
    (options as WatchedOptions).onTransport?.(this);
    return super.connect(target, options);
  }

  /**
   * Takes messages out before the library, and lets them gather for a moment: a collector gets
   * thousands a second, and waking up for each costs several times what the message itself does.
   */
  override setupHandlers(): void {
    super.setupHandlers();
    const { socket } = this;
    const { readEveryMs, onMessage } = this.options as WatchedOptions;
    const splitter = new MessageSplitter(onMessage, (bytes) => {
      this.yields.push(bytes);
      this.signal.resolve();
    });
    const fullBytes = this.isEncrypted() ? recordBytesMax : readBytesMax;
    let gathering = false;
    socket.removeAllListeners('data');
    socket.on('data', (chunk: Buffer) => {
      try {
        splitter.push(chunk);
      } catch (error) {
        // Bytes that no NATS server sends: this connection is worth nothing.
        socket.destroy(error as Error);
        return;
      }
      if (readEveryMs === 0 || gathering || chunk.length >= fullBytes) return;
      gathering = true;
      handleOf(socket)?.readStop();
      setTimeout(() => {
        gathering = false;
        handleOf(socket)?.readStart();
      }, readEveryMs);
    });
  }
}

/** Starts the attempt. `options.reconnect` must be false: the caller does that. */
export function dial(options: DialOptions): Dial {
  const transports = new Set<NodeTransport>();
  let discarded = false;
  const discard = () => {
    discarded = true;
    for (const transport of transports) transport.discard();
    transports.clear();
  };
  const watched: WatchedOptions = {
    ...options,
    onTransport: (transport) => {
      transports.add(transport);
      if (discarded) transport.discard();
    },
  };
  // Set before each attempt: any other user of the library in this process sets its own.
  setTransportFactory({ factory: () => new WatchedTransport(), dnsResolveFn: nodeResolveHost });
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

interface ReadingHandle {
  readStop(): void;
  readStart(): void;
}

/**
 * What reads for a socket, while it is open. `socket.pause()` is not enough: the stream above goes
 * on reading, small piece by small piece, until its own buffer is full. A runtime without these
 * calls reads at once, which is only dearer.
 */
function handleOf(socket: Socket): ReadingHandle | undefined {
  const handle = (socket as { _handle?: Partial<ReadingHandle> | null })._handle;
  const able = typeof handle?.readStop === 'function' && typeof handle.readStart === 'function';
  return able ? (handle as ReadingHandle) : undefined;
}
