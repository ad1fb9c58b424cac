/**
 * A collector in a thread of the calling process (a picker): it fills the view that the caller
 * made and whose readers live in any thread.
 *
 * A thread that dies is noticed and replaced after a short wait. The new one takes the view over
 * as it is, so readers go on with what they have; a slot that was being written is emptied. The
 * old thread is gone before the new one begins, so there is never more than one writer.
 */
import { Worker } from 'node:worker_threads';
import { Backoff, type Logger, type LogLevel } from '@leadsman/service';
import type { CollectorSnapshot } from '../core/collector-core.ts';
import type { FeedConfig } from '../feed/feed-config.ts';
import { expireAfterMsDefault } from '../ingest/fleet.ts';
import type { CollectorThreadData, CollectorThreadMessage } from './thread-messages.ts';

export interface EmbeddedCollectorOptions {
  /** Made by `createView`. */
  view: SharedArrayBuffer;
  feed: FeedConfig;
  expireAfterMs?: number;
  logLevel: LogLevel;
  logger: Logger;
  random: () => number;
  /** Called about each second with what the thread knows of itself. */
  onSnapshot?: (snapshot: CollectorSnapshot) => void;
  /** Called with `host:port` when the direct listener is open. */
  onListening?: (address: string) => void;
}

export interface EmbeddedCollector {
  /** The present thread; another one after a restart. */
  readonly thread: Worker;
  /** Threads that ended unasked. */
  readonly restarts: number;
  readonly snapshot: CollectorSnapshot | undefined;
  stop(): Promise<void>;
}

/** Waits between restarts: a fault that comes back at once must not fill the log. */
const restart = { firstMs: 50, maxMs: 5_000 };
/** A thread that lived this long was well: the next wait is the first again. */
const wellAfterMs = 10_000;
const stopGraceMs = 3_000;

/** Starts the thread and keeps one running until `stop`. */
export function startEmbeddedCollector(options: EmbeddedCollectorOptions): EmbeddedCollector {
  return new Supervisor(options);
}

class Supervisor implements EmbeddedCollector {
  thread: Worker;
  restarts = 0;
  snapshot: CollectorSnapshot | undefined;
  readonly #options: EmbeddedCollectorOptions;
  readonly #backoff: Backoff;
  #feed: FeedConfig;
  #stopping = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: EmbeddedCollectorOptions) {
    this.#options = options;
    this.#feed = options.feed;
    this.#backoff = new Backoff({ ...restart, random: options.random });
    this.thread = this.#begin();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#timer);
    const { thread } = this;
    if (thread.threadId === -1) return;
    const ended = new Promise<void>((resolve) => thread.once('exit', () => resolve()));
    const timer = setTimeout(() => void thread.terminate(), stopGraceMs);
    thread.postMessage('stop');
    await ended;
    clearTimeout(timer);
  }

  #begin(): Worker {
    const { logger, view, logLevel, expireAfterMs } = this.#options;
    const workerData: CollectorThreadData = {
      view,
      feed: this.#feed,
      expireAfterMs: expireAfterMs ?? expireAfterMsDefault,
      logLevel,
    };
    const thread = new Worker(new URL('./collector-thread.ts', import.meta.url), {
      name: 'collector',
      workerData,
    });
    const beganMs = performance.now();
    thread.on('message', (message: CollectorThreadMessage) => this.#heard(message));
    thread.on('error', (error) => logger.error({ err: error }, 'collector thread failed'));
    thread.once('exit', () => {
      if (this.#stopping) return;
      this.restarts++;
      if (performance.now() - beganMs >= wellAfterMs) this.#backoff.reset();
      const waitMs = this.#backoff.next();
      logger.error({ restarts: this.restarts, waitMs }, 'collector thread ended, restarting it');
      this.#timer = setTimeout(() => {
        this.thread = this.#begin();
      }, waitMs);
    });
    return thread;
  }

  #heard(message: CollectorThreadMessage): void {
    if (message.type === 'snapshot') {
      this.snapshot = message.snapshot;
      this.#options.onSnapshot?.(message.snapshot);
      return;
    }
    // Senders know this port: the next thread must listen on the same one.
    const port = Number(message.address.slice(message.address.lastIndexOf(':') + 1));
    if (this.#feed.direct) this.#feed = { ...this.#feed, direct: { ...this.#feed.direct, port } };
    this.#options.onListening?.(message.address);
  }
}
