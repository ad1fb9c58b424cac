/**
 * The feed of a picker without a broker: watches one collector replica at a time and goes to the
 * next when it ends, refuses or falls silent.
 *
 * ```
 *   resolving ──> opening ──first frame──> watching ──ended, silent──> resolving (at once)
 *       ^             └─refused, failed─> next replica, or after the last one: wait ─┘
 * ```
 *
 * A change of replica cannot set the view back: reports are ordered by their own (epoch, seq), and
 * their ages include the time they were held by the collector. What an older replica lacks simply
 * comes with the next one's keyframe, and what has left by then is told before it.
 */
import { Client, type ClientReadableStream, type Metadata } from '@grpc/grpc-js';
import {
  ClientTls,
  type CollectorAccess,
  type FrameHandler,
  type FrameSource,
  type HostPort,
  type LinkLogger,
  type LookupAll,
  lookupAll,
  parseHostPort,
  type Replica,
  resolveHosts,
  watchMethod,
} from '@leadsman/link';
import { Backoff, pause } from '@leadsman/service';
import { frameBytesMax, keyframeIntervalMs } from '@leadsman/wire';

export interface RemoteFeedOptions {
  targets: readonly string[];
  tls?: CollectorAccess;
  name: string;
  intervalMs: number;
  logger: LinkLogger;
  nowMs: () => number;
  random: () => number;
  lookupHost?: LookupAll;
}

export interface RemoteFeedCounters {
  /** Streams that had brought frames and ended. */
  failovers: number;
  connectErrors: number;
}

/** A collector repeats itself each second: three times nothing means that it is gone. */
const silentMs = 3 * keyframeIntervalMs;
/** A connection and the first frame. */
const openTimeoutMs = 3_000;

export class RemoteFeed implements FrameSource {
  readonly counters: RemoteFeedCounters = { failovers: 0, connectErrors: 0 };
  readonly #options: RemoteFeedOptions;
  readonly #targets: HostPort[];
  readonly #tls: ClientTls;
  readonly #backoff: Backoff;
  readonly #stopping = new AbortController();
  #connected = false;
  #lastAddress = '';
  #running: Promise<void> | undefined;

  /** Throws RangeError on a malformed target. */
  constructor(options: RemoteFeedOptions) {
    this.#options = options;
    this.#tls = new ClientTls(options.tls, options.logger);
    this.#targets = options.targets.map(parseHostPort);
    this.#backoff = new Backoff({ firstMs: 50, maxMs: 1_000, random: options.random });
  }

  get connected(): boolean {
    return this.#connected;
  }

  start(onFrame: FrameHandler): void {
    this.#running ??= this.#run(onFrame);
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(onFrame: FrameHandler): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const replicas = await this.#replicas();
      // A name that leads nowhere is not reached either.
      if (replicas.length === 0) this.counters.connectErrors++;
      let brought = false;
      for (const replica of replicas) {
        if (signal.aborted) return;
        brought = await this.#watch(replica, onFrame);
        this.#lastAddress = replica.address;
        if (brought) {
          this.counters.failovers++;
          this.#backoff.reset();
          break;
        }
        this.counters.connectErrors++;
      }
      await pause(this.#backoff.next(), signal);
    }
  }

  /**
   * All replicas, beginning at a random one, so that pickers spread over them; the one watched
   * last comes last, as it has just failed.
   */
  async #replicas(): Promise<Replica[]> {
    const { replicas, failed } = await resolveHosts(
      this.#targets,
      this.#options.lookupHost ?? lookupAll,
    );
    if (failed.length > 0) this.#options.logger.warn({ failed }, 'collector name not resolved');
    const list = [...replicas.values()];
    const first = Math.floor(this.#options.random() * list.length);
    const order = [...list.slice(first), ...list.slice(0, first)];
    const isLast = (replica: Replica) => Number(replica.address === this.#lastAddress);
    return order.sort((a, b) => isLast(a) - isLast(b));
  }

  /** Follows one replica to its end; `true` when it brought at least one frame. */
  async #watch(replica: Replica, onFrame: FrameHandler): Promise<boolean> {
    const tls = this.#tls;
    const { logger, name, intervalMs, nowMs } = this.#options;
    let client: Client;
    let metadata: Metadata;
    try {
      metadata = await tls.metadata();
      client = new Client(replica.address, await tls.credentials(), {
        'grpc.use_local_subchannel_pool': 1,
        'grpc.enable_retries': 0,
        'grpc.default_authority': replica.serverName,
        'grpc.max_receive_message_length': frameBytesMax + 64,
        ...(tls.secured ? { 'grpc.ssl_target_name_override': replica.serverName } : {}),
      });
    } catch (error) {
      logger.warn({ err: error }, 'TLS or token files for collectors cannot be used');
      return false;
    }
    const call: ClientReadableStream<Uint8Array> = client.makeServerStreamRequest(
      watchMethod.path,
      watchMethod.requestSerialize,
      watchMethod.responseDeserialize,
      { name, intervalMs },
      metadata,
    );
    const openedMs = nowMs();
    let heardMs = Number.NaN;
    const ended = Promise.withResolvers<string>();
    let over = false;
    call.on('data', (frame: Uint8Array) => {
      // What a given-up call still brings must not pass for a living one.
      if (over) return;
      heardMs = nowMs();
      this.#connected = true;
      onFrame(frame, 0);
    });
    call.on('error', (error) => ended.resolve(error.message));
    call.on('end', () => ended.resolve('ended by the collector'));
    const watchdog = setInterval(() => {
      const silent = Number.isNaN(heardMs)
        ? nowMs() - openedMs > openTimeoutMs
        : nowMs() - heardMs > silentMs;
      if (silent) ended.resolve('silent');
    }, 250);
    const onAbort = () => ended.resolve('stopping');
    this.#stopping.signal.addEventListener('abort', onAbort);
    if (this.#stopping.signal.aborted) onAbort();
    const why = await ended.promise;
    over = true;
    clearInterval(watchdog);
    this.#stopping.signal.removeEventListener('abort', onAbort);
    this.#connected = false;
    call.cancel();
    client.close();
    logger.warn({ collector: replica.address, reason: why }, 'no longer watching this collector');
    return !Number.isNaN(heardMs);
  }
}
