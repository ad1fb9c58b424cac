/**
 * The library's transport, with a reading side for receivers of many small messages.
 *
 * A collector gets thousands of messages a second, and waking up for each costs several times what
 * the message itself does. So after a reading the socket rests for `readEveryMs`, while messages
 * gather in the kernel; the reading goes into one buffer that is used again, past Node's streams;
 * and messages are taken out before the library sees them (message-splitter.ts).
 *
 * ```
 *   socket ──onread──> splitter ──> onMessage         TLS: the same by 'data' events, as its
 *                          └─ other lines ─> library       records come decrypted from above
 * ```
 */
import { createConnection, type Socket } from 'node:net';
import type { NodeConnectionOptions } from '@nats-io/transport-node';
import { NodeTransport } from '@nats-io/transport-node/lib/node_transport.js';
import { type MessageListener, MessageSplitter } from './message-splitter.ts';

export type TransportOptions = NodeConnectionOptions & {
  /** Shortest distance of two readings of the socket, ms; 0: read whatever comes at once. */
  readEveryMs: number;
  /** Gets the messages, in memory that is valid during the call; what is none goes to the library. */
  onMessage: MessageListener;
  /** Called with each transport that begins to connect. */
  onTransport?: (transport: NodeTransport) => void;
};

/**
 * What one reading of a socket returns at most; a full one means that more is waiting. TLS gives
 * its records one by one.
 */
const readBytesMax = 65_536;
const recordBytesMax = 16_384;

export class GatheringTransport extends NodeTransport {
  /** The TCP socket; `socket` is this one, or the TLS socket on top of it. */
  #plain: Socket | undefined;
  #splitter: MessageSplitter | undefined;
  #resting = false;

  override connect(
    target: { hostname: string; port: number; tlsName: string },
    options: NodeConnectionOptions,
  ): Promise<void> {
    (options as TransportOptions).onTransport?.(this);
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
    return dialled.promise;
  }

  /** Ends a dial that is under way too: the library would leave it to the system's time-out. */
  override discard(): void {
    super.discard();
    this.#plain?.destroy();
  }

  /** The library calls this once the server has introduced itself and TLS, if any, is up. */
  override setupHandlers(): void {
    super.setupHandlers();
    const { onMessage } = this.options as TransportOptions;
    this.#splitter = new MessageSplitter(onMessage, (bytes) => {
      this.yields.push(bytes.slice());
      this.signal.resolve();
    });
    // The library forgets its socket when it closes, which may be before a rest is over.
    const { socket } = this;
    if (!this.isEncrypted()) return;
    socket.removeAllListeners('data');
    socket.on('data', (bytes: Buffer) => {
      if (!this.#take(socket, bytes, recordBytesMax)) handleOf(socket)?.readStop();
    });
  }

  /** Whether to go on reading. */
  #onread(bytes: Uint8Array): boolean {
    const socket = this.#plain as Socket;
    if (this.#splitter !== undefined) return this.#take(socket, bytes, readBytesMax);
    socket.emit('data', Buffer.from(bytes));
    return true;
  }

  /** Takes a reading of `socket` in; `false`: rest now, until the timer resumes. */
  #take(socket: Socket, bytes: Uint8Array, fullBytes: number): boolean {
    try {
      this.#splitter?.push(bytes);
    } catch (error) {
      // Bytes that no NATS server sends: this connection is worth nothing.
      socket.destroy(error as Error);
      return false;
    }
    const { readEveryMs } = this.options as TransportOptions;
    if (readEveryMs === 0 || bytes.length >= fullBytes) return true;
    if (this.#resting) return false;
    this.#resting = true;
    setTimeout(() => {
      this.#resting = false;
      if (socket === this.#plain) socket.resume();
      else handleOf(socket)?.readStart();
    }, readEveryMs);
    return false;
  }
}

interface ReadingHandle {
  readStop(): void;
  readStart(): void;
}

/**
 * What reads for a TLS socket, while it is open. `socket.pause()` is not enough: the stream above
 * goes on reading, record by record, until its own buffer is full. A runtime without these calls
 * reads at once, which is only dearer.
 */
function handleOf(socket: Socket): ReadingHandle | undefined {
  const handle = (socket as { _handle?: Partial<ReadingHandle> | null })._handle;
  const able = typeof handle?.readStop === 'function' && typeof handle.readStart === 'function';
  return able ? (handle as ReadingHandle) : undefined;
}
