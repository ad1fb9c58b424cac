/**
 * Makes and ends single connections of a link: which server is next, with which credentials, and
 * that each socket is gone before the next is opened.
 */
import type { NatsConnection } from '@nats-io/transport-node';
import { loadAuthenticator } from './credentials.ts';
import type { MessageListener } from './message-splitter.ts';
import type { NatsBounds, NatsOptions, NatsTls } from './options.ts';
import { type Dial, type DialOptions, dial } from './reading-side.ts';

/** How long an orderly end may take, ms: a dead peer must not hold up the next connection. */
const releaseMs = 1_000;

export class Connector {
  readonly #options: NatsOptions;
  readonly #bounds: NatsBounds;
  readonly #servers: string[];
  readonly #dials = new WeakMap<NatsConnection, Dial>();
  readonly #onMessage: MessageListener;
  #next = 0;

  constructor(
    options: NatsOptions,
    bounds: NatsBounds,
    random: () => number,
    onMessage: MessageListener,
  ) {
    this.#onMessage = onMessage;
    this.#options = options;
    this.#bounds = bounds;
    this.#servers = shuffled(options.servers, random);
  }

  /** One attempt with the next server. Throws when it failed or `signal` ended it. */
  async connect(signal: AbortSignal): Promise<NatsConnection> {
    const server = this.#servers[this.#next % this.#servers.length] as string;
    this.#next++;
    const attempt = dial(await this.#dialOptions(server));
    const stopped = Promise.withResolvers<never>();
    const onAbort = () => {
      attempt.discard();
      stopped.reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
    // Whichever loses is looked at by nobody else.
    stopped.promise.catch(() => undefined);
    attempt.connection.catch(() => undefined);
    try {
      const connection = await Promise.race([attempt.connection, stopped.promise]);
      this.#dials.set(connection, attempt);
      return connection;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Sends what is under way, then closes; the socket is gone when this resolves. */
  async release(connection: NatsConnection): Promise<void> {
    if (!connection.isClosed()) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, releaseMs);
      });
      await Promise.race([connection.drain().catch(() => undefined), late]);
      clearTimeout(timer);
    }
    this.#dials.get(connection)?.discard();
    // After the socket is gone this only ends the iterators, at once.
    if (!connection.isClosed()) await connection.close().catch(() => undefined);
  }

  async #dialOptions(server: string): Promise<DialOptions> {
    const { credentials, tls, name } = this.#options;
    const authenticator = await loadAuthenticator(credentials ?? {});
    const files = tlsFiles(tls);
    const secured = files !== undefined || server.startsWith('tls://');
    return {
      servers: [server],
      name,
      reconnect: false,
      timeout: this.#bounds.connectTimeoutMs,
      onMessage: this.#onMessage,
      ignoreClusterUpdates: true,
      noAsyncTraces: true,
      ...(authenticator === undefined ? {} : { authenticator }),
      ...(secured ? { tls: files ?? {} } : {}),
    };
  }
}

function tlsFiles(tls: NatsTls | undefined): NatsTls | undefined {
  const files: NatsTls = {};
  if (tls?.caFile) files.caFile = tls.caFile;
  if (tls?.certFile) files.certFile = tls.certFile;
  if (tls?.keyFile) files.keyFile = tls.keyFile;
  return Object.keys(files).length === 0 ? undefined : files;
}

/** A copy in random order: not every sender of a cluster should begin with the same server. */
function shuffled(servers: readonly string[], random: () => number): string[] {
  const copy = [...servers];
  for (let i = copy.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    const held = copy[i] as string;
    copy[i] = copy[j] as string;
    copy[j] = held;
  }
  return copy;
}
