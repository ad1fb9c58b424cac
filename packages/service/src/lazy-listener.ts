/**
 * A listener whose HTTP server is made at the first connection. Most sidecars are never asked
 * anything over HTTP: a listening socket costs them 2 MB, what answers on it ten times that.
 *
 * ```
 *   net.Server ──first connection──> load() ──> http.Server takes over the handle
 *                 (waits, unread)                 and the connections that waited
 * ```
 */
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** What of `http.Server` is used here: naming its type must not load it. */
export interface LazyHttpServer {
  listen(handle: object, listening: () => void): unknown;
  emit(event: 'connection', socket: Socket): boolean;
  once(event: 'error', listener: (error: Error) => void): unknown;
  close(closed: () => void): unknown;
  closeAllConnections(): void;
}

export interface LazyListenerOptions {
  host: string;
  /** 0: any. */
  port: number;
  /** Makes the server, which does not listen yet; called again at the next connection if it fails. */
  load: () => Promise<LazyHttpServer>;
  onError: (error: unknown) => void;
}

export interface LazyListener {
  readonly address: AddressInfo;
  /** Whether the HTTP server is there. */
  readonly loaded: boolean;
  /** Ends all connections. */
  close(): Promise<void>;
}

/** Connections that wait while the server is loaded (some 100 ms); one more is closed. */
const waitingMax = 64;

/** Resolves when it listens; rejects when it cannot. */
export async function listenLazily(options: LazyListenerOptions): Promise<LazyListener> {
  const waiting = new Set<Socket>();
  let server: LazyHttpServer | undefined;
  let loading: Promise<void> | undefined;
  let closed = false;
  const front = createServer({ pauseOnConnect: true }, (socket) => {
    if (waiting.size >= waitingMax || closed) {
      socket.destroy();
      return;
    }
    socket.on('error', ignore);
    waiting.add(socket);
    loading ??= takeOver().finally(() => {
      loading = undefined;
    });
  });
  const takeOver = async () => {
    try {
      const loaded = await options.load();
      if (closed) return;
      await new Promise<void>((resolve, reject) => {
        loaded.once('error', reject);
        loaded.listen(front, resolve);
      });
      server = loaded;
      for (const socket of waiting) {
        socket.off('error', ignore);
        loaded.emit('connection', socket);
        socket.resume();
      }
    } catch (error) {
      options.onError(error);
      for (const socket of waiting) socket.destroy();
    }
    waiting.clear();
  };
  await new Promise<void>((resolve, reject) => {
    front.once('error', reject);
    front.listen({ host: options.host, port: options.port }, () => {
      front.off('error', reject);
      resolve();
    });
  });
  return {
    address: front.address() as AddressInfo,
    get loaded() {
      return server !== undefined;
    },
    close: async () => {
      closed = true;
      for (const socket of waiting) socket.destroy();
      await loading;
      const listening = server;
      await new Promise<void>((resolve) => {
        if (listening === undefined) front.close(() => resolve());
        else {
          listening.close(() => resolve());
          listening.closeAllConnections();
        }
      });
    },
  };
}

/** A client that gives up while it waits is no fault. */
function ignore(): void {}
