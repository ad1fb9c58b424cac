/**
 * Opens what a {@link FeedConfig} names and gives its frames to one handler. Several sources at
 * once do no harm: the newest report wins whatever way it came.
 */
import type {
  Authorizer,
  FeedServer,
  FrameHandler,
  FrameSource,
  LinkLogger,
  NatsLink,
  WatchCall,
} from '@leadsman/link';
import { connectNats } from '@leadsman/link/nats/link';
import { BatchedWakeup } from '@leadsman/service';
import { allFramesSubject, formatHostPort } from '@leadsman/wire';
import type { RemoteFeed } from '../watch/remote-feed.ts';
import { DirectPresence } from './direct-presence.ts';
import type { FeedConfig, TokenConfig } from './feed-config.ts';
import { FramesSubscription } from './frames-subscription.ts';

/**
 * How long frames may gather before they are read, ms: what the freshness budget has for NATS and
 * ingest. A collector of a thousand pods wakes up 125 times a second by it, not thousands of times.
 */
const gatherMs = 8;

export interface FeedDeps {
  logger: LinkLogger;
  nowMs: () => number;
  random: () => number;
  /** This thread does nothing else, so it may sleep while frames gather. */
  sleeps: boolean;
  /** Serves watchers on the direct listener. */
  watch?: (call: WatchCall) => void;
}

export class Feed {
  readonly nats: NatsLink | undefined;
  /** Once it is started, where the configuration has one. */
  direct: FeedServer | undefined;
  remote: RemoteFeed | undefined;
  /** `host:port` of the direct listener, once it listens. */
  directAddress = '';
  readonly #config: FeedConfig;
  readonly #deps: FeedDeps;
  readonly #sources: FrameSource[] = [];
  readonly #frames: FramesSubscription | undefined;
  readonly #presence = new DirectPresence();

  constructor(config: FeedConfig, deps: FeedDeps) {
    this.#config = config;
    this.#deps = deps;
    const { logger, nowMs, random } = deps;
    if (config.nats !== undefined) {
      this.nats = connectNats({ ...config.nats.options, logger, nowMs, random });
      const subject = allFramesSubject(config.nats.subjectPrefix);
      this.#frames = new FramesSubscription(this.nats, subject, nowMs);
      this.#sources.push(this.#frames);
    }
  }

  /**
   * Begins to call `onFrame`. Rejects when the direct listener's port cannot be had, or what its
   * callers' tokens are to be checked by.
   */
  async start(onFrame: FrameHandler): Promise<void> {
    const wakeup = this.#deps.sleeps ? new BatchedWakeup(gatherMs, this.#deps.nowMs) : undefined;
    const handler: FrameHandler = (frame, waitedMs) => {
      wakeup?.frameTaken();
      onFrame(frame, waitedMs);
    };
    await this.#openGrpc();
    for (const source of this.#sources) source.start(handler);
    if (this.direct === undefined || this.#config.direct === undefined) return;
    const port = await this.direct.listen();
    this.#presence.listening(this.#deps.nowMs());
    this.directAddress = formatHostPort(this.#config.direct.host, port);
  }

  /** gRPC is loaded only where it is used: it takes more memory than all the rest. */
  async #openGrpc(): Promise<void> {
    const { direct, remote, name } = this.#config;
    if (direct !== undefined) {
      const { watch, logger } = this.#deps;
      const { grpcFrameServer } = await import('@leadsman/link/grpc/feed-server');
      const { tokens, ...listener } = direct;
      const authorize = tokens && (await this.#authorizer(tokens));
      this.direct = grpcFrameServer({
        ...listener,
        logger,
        ...(authorize && { authorize }),
        ...(watch && { watch }),
      });
      this.#sources.push(this.direct);
    }
    if (remote !== undefined) {
      const { RemoteFeed } = await import('../watch/remote-feed.ts');
      this.remote = new RemoteFeed({ ...remote, name, ...this.#deps });
      this.#sources.push(this.remote);
    }
  }

  /**
   * Whether the main source brings frames now, or would if there were senders: the broker where
   * there is one, else the watched collector, else whoever dials in.
   */
  get connected(): boolean {
    if (this.#frames !== undefined) return this.#frames.connected;
    if (this.remote !== undefined) return this.remote.connected;
    if (this.direct === undefined) return false;
    this.#presence.look(this.direct.streams, this.#deps.nowMs());
    return this.#presence.connected;
  }

  /**
   * When the latest sender came of whom more were to be expected, as of the last look at
   * {@link connected}; -∞ where a broker or a collector has them all.
   */
  get arrivedAtMs(): number {
    return this.#presence.arrivedAtMs;
  }

  /** What only an operator can mend; `undefined` when nothing. */
  get problem(): string | undefined {
    return this.#frames?.problem;
  }

  /** The client of the API server is loaded only where callers show tokens. */
  async #authorizer(tokens: TokenConfig): Promise<Authorizer> {
    const { callerCheck } = await import('./caller-check.ts');
    return callerCheck(tokens, this.#deps);
  }

  async close(): Promise<void> {
    await Promise.all(this.#sources.map((source) => source.close()));
    await this.nats?.close();
  }
}
