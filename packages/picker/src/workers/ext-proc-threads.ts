/**
 * The ext_proc threads as the rest of the main thread sees them: one thing that listens on one
 * port, is told of pools, certificates and readiness, and drains.
 */
import type { Worker } from 'node:worker_threads';
import type { TlsIdentity } from '@leadsman/ext-proc/transport/http2-server';
import type { PoolUpdate } from '@leadsman/scheduling/endpoint';
import type { SchedulingConfig } from '@leadsman/scheduling/scheduling-config';
import type { SchedulingFromWorker } from '@leadsman/scheduling/shared/messages';
import type { Logger } from '@leadsman/service';
import type { PickerConfig } from '../config/picker-config.ts';
import type { FromWorker, SharedMemory, ToWorker, WorkerData } from './messages.ts';
import { SilenceWatch } from './silence-watch.ts';
import { ThreadRoll } from './thread-roll.ts';
import { extProcOptionsOf } from './worker-options.ts';
import { WorkerPool } from './worker-pool.ts';

export interface ExtProcThreadsOptions {
  config: PickerConfig;
  shared: SharedMemory;
  /** `undefined`: plaintext. */
  identity: TlsIdentity | undefined;
  /** The configuration that a thread starts with. */
  scheduling: () => SchedulingConfig;
  /** All pools, for a thread that starts. */
  pools: () => PoolUpdate[];
  onScheduling(worker: number, message: SchedulingFromWorker): void;
  /** A thread died; called before its successor starts. */
  onExit(worker: number): void;
  logger: Logger;
}

/** Added to the grace period before threads that did not say they are drained are ended. */
const drainSlackMs = 2_000;

/**
 * Numbers are asked for each second; a thread that has not answered ten times serves nobody, as
 * gateways give up a message after as long, and is ended and started again.
 */
const unansweredMax = 10;

export class ExtProcThreads {
  readonly #options: ExtProcThreadsOptions;
  readonly #pool: WorkerPool<ToWorker, FromWorker>;
  readonly #roll: ThreadRoll;
  readonly #silence = new SilenceWatch(unansweredMax);
  #hangs = 0;
  #identity: TlsIdentity | undefined;
  #ready = false;
  #port: number;
  #onListening: (() => void) | undefined;
  #onDrained: (() => void) | undefined;
  #failed: ((error: Error) => void) | undefined;

  constructor(options: ExtProcThreadsOptions) {
    this.#options = options;
    this.#roll = new ThreadRoll(options.config.workers);
    this.#identity = options.identity;
    this.#port = options.config.extProcPort;
    this.#pool = new WorkerPool<ToWorker, FromWorker>({
      count: options.config.workers,
      entry: new URL('../worker.ts', import.meta.url),
      dataFor: (worker) => this.#dataFor(worker),
      greetings: () => [
        { type: 'pools', updates: options.pools(), removed: [] },
        { type: 'ready', ready: this.#ready },
      ],
      onMessage: (worker, message) => this.#receive(worker, message),
      onExit: (worker) => {
        this.#roll.ended(worker);
        this.#silence.end(worker);
        options.onExit(worker);
        this.#checkDrained();
        this.#failed?.(new Error('an ext_proc thread did not start; its fault is in the log'));
      },
      logger: options.logger,
    });
  }

  get running(): number {
    return this.#pool.running;
  }

  get restarts(): number {
    return this.#pool.restarts;
  }

  /** See `WorkerPool.utilization`. */
  utilization(): Map<number, number> {
    return this.#pool.utilization();
  }

  /** Whether traffic may come; see `ThreadRoll`. */
  get serving(): boolean {
    return this.#roll.serving;
  }

  /** A thread that runs; for tests of its death. */
  thread(worker: number): Worker | undefined {
    return this.#pool.thread(worker);
  }

  /**
   * Starts all threads and gives the port they share. The first one comes first, as with port 0
   * it is the one that learns the number. Rejects when a thread ends instead of listening.
   */
  async start(): Promise<number> {
    await this.#startThread(0);
    for (let worker = 1; worker < this.#options.config.workers; worker++) {
      await this.#startThread(worker);
    }
    return this.#port;
  }

  /** Threads that hung and were ended, ever. */
  get hangs(): number {
    return this.#hangs;
  }

  post(message: ToWorker): void {
    this.#pool.post(message);
    if (message.type !== 'scheduling-snapshot') return;
    for (const worker of this.#silence.asked()) {
      this.#hangs++;
      this.#options.logger.error({ worker }, 'ext_proc thread hangs and is ended');
      void this.#pool.thread(worker)?.terminate();
    }
  }

  setReady(ready: boolean): void {
    if (ready === this.#ready) return;
    this.#ready = ready;
    this.post({ type: 'ready', ready });
  }

  setIdentity(identity: TlsIdentity): void {
    this.#identity = identity;
    this.post({ type: 'identity', identity });
  }

  /** Resolves when every thread is drained or has ended, or the grace period is over. */
  async drain(noticeMs: number, graceMs: number): Promise<void> {
    this.#pool.retire();
    const drained = new Promise<void>((resolve) => {
      this.#onDrained = resolve;
      setTimeout(resolve, graceMs + drainSlackMs).unref();
    });
    this.post({ type: 'drain', noticeMs, graceMs });
    this.#checkDrained();
    await drained;
  }

  stop(): Promise<void> {
    return this.#pool.stop();
  }

  async #startThread(worker: number): Promise<void> {
    const listening = new Promise<void>((resolve, reject) => {
      this.#onListening = resolve;
      this.#failed = reject;
    });
    this.#pool.start(worker);
    try {
      await listening;
    } catch (error) {
      await this.stop();
      throw error;
    } finally {
      this.#failed = undefined;
    }
  }

  #dataFor(worker: number): WorkerData {
    const { config, shared, scheduling } = this.#options;
    return {
      worker,
      shared,
      extProc: extProcOptionsOf(config, this.#port, this.#identity),
      config: scheduling(),
      logLevel: config.logLevel,
    };
  }

  #receive(worker: number, message: FromWorker): void {
    this.#silence.heard(worker);
    if (message.type === 'listening') {
      this.#port = message.ports[0] ?? this.#port;
      this.#roll.listening(worker);
      this.#silence.begin(worker);
      this.#onListening?.();
    } else if (message.type === 'drained') {
      this.#roll.drained(worker);
      this.#checkDrained();
    } else this.#options.onScheduling(worker, message);
  }

  #checkDrained(): void {
    if (this.#roll.allDrained(this.running)) this.#onDrained?.();
  }
}
