/**
 * A collector without its outside: a feed, the ingest that fills the view from it, and the clock's
 * ticks. The same core runs in a process of a picker and in the collector service.
 */
import type { NatsCounters } from '@leadsman/link';
import { tickMs } from '@leadsman/service';
import { type FeedState, feedState } from '@leadsman/view/layout';
import { ViewWriter } from '@leadsman/view/writer';
import { Feed, type FeedDeps } from '../feed/feed.ts';
import type { FeedConfig } from '../feed/feed-config.ts';
import type { IngestCounters } from '../ingest/counters.ts';
import { FeedWatch } from '../ingest/feed-watch.ts';
import { FrameIngest } from '../ingest/frame-ingest.ts';
import type { Departures } from '../watch/departures.ts';

export interface CollectorCoreOptions {
  view: ArrayBufferLike;
  feed: FeedConfig;
  expireAfterMs: number;
  /** Keep rank numbers, for people. */
  keepRanks: boolean;
  /** Takes note of who left, for watchers. */
  departures?: Departures;
}

/** What a collector knows of itself: plain data for metrics, also across threads. */
export interface CollectorSnapshot {
  ingest: IngestCounters;
  endpoints: number;
  endpointsMax: number;
  senders: number;
  notes: number;
  feed: FeedState;
  /** Slots emptied at takeover as their writer had died inside. */
  tornSlots: number;
  nats: { connected: boolean; roundTripMs: number; counters: NatsCounters } | undefined;
  direct:
    | { streams: number; refusedStreams: number; refusedTokens: number; failedStreams: number }
    | undefined;
  remote: { connected: boolean; failovers: number; connectErrors: number } | undefined;
}

export class CollectorCore {
  readonly feed: Feed;
  readonly ingest: FrameIngest;
  readonly #writer: ViewWriter;
  readonly #nowMs: () => number;
  readonly #watch = new FeedWatch();
  #state: FeedState = feedState.never;
  #timer: NodeJS.Timeout | undefined;

  /** Takes over the view. Throws when it is none, or when a target is malformed. */
  constructor(options: CollectorCoreOptions, deps: FeedDeps) {
    this.#nowMs = deps.nowMs;
    this.#writer = new ViewWriter(options.view);
    this.ingest = new FrameIngest({
      writer: this.#writer,
      nowMs: deps.nowMs(),
      expireAfterMs: options.expireAfterMs,
      keepRanks: options.keepRanks,
      ...(options.departures && { departures: options.departures }),
    });
    this.feed = new Feed(options.feed, deps);
  }

  get feedState(): FeedState {
    return this.#state;
  }

  async start(): Promise<void> {
    this.#tick();
    this.#timer = setInterval(() => this.#tick(), tickMs);
    await this.feed.start((frame, waitedMs) => this.ingest.receive(frame, this.#nowMs(), waitedMs));
  }

  snapshot(): CollectorSnapshot {
    const { nats, direct, remote } = this.feed;
    return {
      ingest: this.ingest.counters,
      endpoints: this.#writer.used,
      endpointsMax: this.#writer.slotsMax,
      senders: this.ingest.senders,
      notes: this.ingest.notes,
      feed: this.#state,
      tornSlots: this.#writer.tornSlots,
      nats: nats && {
        connected: nats.connected,
        roundTripMs: nats.roundTripMs,
        counters: { ...nats.counters },
      },
      direct: direct && {
        streams: direct.streams,
        refusedStreams: direct.counters.refusedStreams,
        refusedTokens: direct.counters.refusedTokens,
        failedStreams: direct.counters.failedStreams,
      },
      remote: remote && {
        connected: remote.connected,
        failovers: remote.counters.failovers,
        connectErrors: remote.counters.connectErrors,
      },
    };
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.feed.close();
    this.#writer.mustOwn();
    this.#writer.setFeed(feedState.disconnected);
  }

  #tick(): void {
    const nowMs = this.#nowMs();
    const { connected } = this.feed;
    this.#state = this.#watch.update(connected, nowMs, this.feed.arrivedAtMs);
    this.ingest.tick(nowMs, this.#state);
  }
}
