/**
 * A collector in a process of its own that belongs to the caller (a picker): it fills a view that
 * the caller made in shared memory, and whose readers live in any of the caller's processes.
 *
 * One that dies or hangs is noticed and replaced after a short wait. The new one takes the view
 * over as it is, so readers go on with what they have; a slot that was being written is emptied.
 * The old process is gone before the new one begins, so there is never more than one writer.
 */
import type { Logger, LogLevel } from '@leadsman/service';
import { Backoff } from '@leadsman/service/backoff';
import type { SharedMemory } from '@leadsman/service/processes/shared-memory';
import { SupervisedProcess } from '@leadsman/service/processes/supervised-process';
import { lookIntervalMs, Watchdog } from '@leadsman/service/processes/watchdog';
import { headerWord, ViewMemory } from '@leadsman/view/layout';
import type { CollectorSnapshot } from '../core/collector-core.ts';
import type { FeedConfig } from '../feed/feed-config.ts';
import { expireAfterMsDefault } from '../ingest/fleet.ts';
import type { CollectorStart, FromCollector, ToCollector } from './process-messages.ts';

export interface EmbeddedCollectorOptions {
  memory: SharedMemory;
  /** Made by `createView` in `memory`. */
  view: ArrayBufferLike;
  feed: FeedConfig;
  expireAfterMs?: number;
  /** Options of Node for the process. */
  nodeOptions?: readonly string[];
  logLevel: LogLevel;
  logger: Logger;
  random: () => number;
  /** Called with `host:port` when the direct listener is open. */
  onListening?: (address: string) => void;
}

export interface EmbeddedCollector {
  /** The present process; another one after a restart, `undefined` in between. */
  readonly pid: number | undefined;
  /** Processes that were started again after they ended unasked. */
  readonly restarts: number;
  /** Of these, the ones that hung and were ended. */
  readonly hangs: number;
  /** What the collector knew of itself, at most about a second ago. */
  readonly snapshot: CollectorSnapshot | undefined;
  stop(): Promise<void>;
}

/** Waits between restarts: a fault that comes back at once must not fill the log. */
const restart = { firstMs: 50, maxMs: 5_000 };
const stopGraceMs = 3_000;

/** Starts the process and keeps one running until `stop`. */
export function startEmbeddedCollector(options: EmbeddedCollectorOptions): EmbeddedCollector {
  const { logger, memory, view, logLevel, expireAfterMs, random, nodeOptions = [] } = options;
  const { header } = new ViewMemory(view);
  const watchdog = new Watchdog();
  let { feed } = options;
  let snapshot: CollectorSnapshot | undefined;
  let hangs = 0;

  function receive(message: FromCollector): void {
    if (message.type === 'snapshot') snapshot = message.snapshot;
    else {
      // Senders know this port: the next process must listen on the same one.
      const port = Number(message.address.slice(message.address.lastIndexOf(':') + 1));
      if (feed.direct) feed = { ...feed, direct: { ...feed.direct, port } };
      options.onListening?.(message.address);
    }
  }

  const child = new SupervisedProcess<CollectorStart, ToCollector, FromCollector>({
    name: 'collector',
    entry: new URL('./collector-process.ts', import.meta.url),
    nodeOptions,
    memory,
    start: () => ({
      view: memory.regionOf(view),
      feed,
      expireAfterMs: expireAfterMs ?? expireAfterMsDefault,
      logLevel,
    }),
    greetings: () => [],
    onStart: (pid) => watchdog.begin(0, pid, () => Atomics.load(header, headerWord.heartbeat)),
    onMessage: receive,
    onExit: () => watchdog.end(0),
    wait: new Backoff({ ...restart, random }),
    logger,
  });
  const looking = setInterval(() => {
    if (watchdog.look().length === 0) return;
    hangs++;
    logger.error({ pid: child.pid }, 'collector hangs and is ended');
    child.kill();
  }, lookIntervalMs);
  looking.unref();
  child.begin();
  return {
    get pid() {
      return child.pid;
    },
    get restarts() {
      return child.restarts;
    },
    get hangs() {
      return hangs;
    },
    get snapshot() {
      return snapshot;
    },
    async stop() {
      clearInterval(looking);
      await child.stop({ message: { type: 'stop' }, graceMs: stopGraceMs });
    },
  };
}
