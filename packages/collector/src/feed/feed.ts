/**
 * Opens what a {@link FeedConfig} names and gives its frames to one handler. Several sources at
 * once do no harm: the newest report wins whatever way it came.
 */
import {
  connectNats,
  type FeedServer,
  type FrameSource,
  grpcFrameServer,
  type LinkLogger,
  type NatsLink,
  natsSource,
  type WatchCall,
} from '@leadsman/link';
import { allFramesSubject, formatHostPort } from '@leadsman/wire';
import { RemoteFeed } from '../watch/remote-feed.ts';
import type { FeedConfig } from './feed-config.ts';

/**
 * A direct listener that nobody has dialled yet counts as connected after this long: senders look
 * for new collectors every 5 s, so that then there are none.
 */
const directAloneMs = 7_500;

/**
 * Distance of two readings of NATS, ms: what the freshness budget has for NATS and ingest. A
 * collector of a thousand pods wakes up 125 times a second by it, instead of thousands of times.
 */
const readEveryMs = 8;

export interface FeedDeps {
  logger: LinkLogger;
  nowMs: () => number;
  random: () => number;
  /** Serves watchers on the direct listener. */
  watch?: (call: WatchCall) => void;
}

export class Feed {
  readonly nats: NatsLink | undefined;
  readonly direct: FeedServer | undefined;
  readonly remote: RemoteFeed | undefined;
  /** `host:port` of the direct listener, once it listens. */
  directAddress = '';
  readonly #config: FeedConfig;
  readonly #deps: FeedDeps;
  readonly #sources: FrameSource[] = [];
  #listeningSinceMs = Number.NaN;
  #everDialled = false;

  constructor(config: FeedConfig, deps: FeedDeps) {
    this.#config = config;
    this.#deps = deps;
    const { logger, nowMs, random } = deps;
    if (config.nats !== undefined) {
      const bounds = { readEveryMs, ...config.nats.options.bounds };
      this.nats = connectNats({ ...config.nats.options, bounds, logger, nowMs, random });
      this.#sources.push(natsSource(this.nats, allFramesSubject(config.nats.subjectPrefix)));
    }
    if (config.direct !== undefined) {
      const { watch } = deps;
      this.direct = grpcFrameServer({ ...config.direct, ...(watch ? { watch } : {}) });
      this.#sources.push(this.direct);
    }
    if (config.remote !== undefined) {
      this.remote = new RemoteFeed({ ...config.remote, name: config.name, ...deps });
      this.#sources.push(this.remote);
    }
  }

  /** Begins to call `onFrame`. Rejects when the direct listener's port cannot be had. */
  async start(onFrame: (frame: Uint8Array) => void): Promise<void> {
    for (const source of this.#sources) source.start(onFrame);
    if (this.direct === undefined || this.#config.direct === undefined) return;
    const port = await this.direct.listen();
    this.#listeningSinceMs = this.#deps.nowMs();
    this.directAddress = formatHostPort(this.#config.direct.host, port);
  }

  /**
   * Whether the main source brings frames now, or would if there were senders: the broker where
   * there is one, else the watched collector, else whoever dials in.
   */
  get connected(): boolean {
    if (this.nats !== undefined) return this.nats.connected;
    if (this.remote !== undefined) return this.remote.connected;
    if (this.direct === undefined) return false;
    if (this.direct.streams > 0) this.#everDialled = true;
    if (this.#everDialled) return this.direct.streams > 0;
    return this.#deps.nowMs() - this.#listeningSinceMs >= directAloneMs;
  }

  async close(): Promise<void> {
    await Promise.all(this.#sources.map((source) => source.close()));
    await this.nats?.close();
  }
}
