/**
 * The workers as the rest of the main process sees them: one thing that listens on one port, is
 * told of pools, certificates and readiness, and drains.
 *
 * ```
 * a worker ends     its in-flight requests are taken back, the others serve on, it is started again
 * a worker hangs    the watchdog finds it within a second and kills it; then as above
 * ```
 */
import type { TlsIdentity } from '@leadsman/ext-proc/transport/http2-server';
import type { PoolUpdate } from '@leadsman/scheduling/endpoint';
import type { SchedulingConfig } from '@leadsman/scheduling/scheduling-config';
import type { SchedulingFromWorker } from '@leadsman/scheduling/shared/messages';
import type { Logger } from '@leadsman/service';
import { Backoff } from '@leadsman/service/backoff';
import { HeartbeatReader } from '@leadsman/service/processes/heartbeat';
import type { SharedMemory } from '@leadsman/service/processes/shared-memory';
import { SupervisedProcess } from '@leadsman/service/processes/supervised-process';
import { lookIntervalMs, Watchdog } from '@leadsman/service/processes/watchdog';
import type { PickerConfig } from '../config/picker-config.ts';
import type { FromWorker, ToWorker, WorkerStart } from './messages.ts';
import type { SharedMemorySize } from './picker-memory.ts';
import { extProcOptionsOf } from './worker-options.ts';
import { WorkerRegistry } from './worker-registry.ts';

export interface ExtProcWorkersOptions {
  config: PickerConfig;
  memory: SharedMemory;
  memorySize: SharedMemorySize;
  /** One per worker. */
  heartbeats: readonly ArrayBufferLike[];
  /** Options of Node for each worker. */
  nodeOptions: readonly string[];
  /** What the calls of one worker may hold together. */
  heldBytesMax: number;
  /** `undefined`: plaintext. */
  identity: TlsIdentity | undefined;
  /** The configuration that a worker starts with. */
  scheduling: () => SchedulingConfig;
  /** All pools, for a worker that starts. */
  pools: () => PoolUpdate[];
  onScheduling(worker: number, message: SchedulingFromWorker): void;
  /** A worker died; called before its successor starts. */
  onExit(worker: number): void;
  random: () => number;
  logger: Logger;
}

/** Added to the grace period before workers that did not say they are drained are ended. */
const drainSlackMs = 2_000;

/** First and longest wait before a dead worker is started again. */
const restart = { firstMs: 50, maxMs: 5_000 };

type WorkerProcess = SupervisedProcess<WorkerStart, ToWorker, FromWorker>;

export class ExtProcWorkers {
  readonly #options: ExtProcWorkersOptions;
  readonly #processes: readonly WorkerProcess[];
  readonly #heartbeats: readonly HeartbeatReader[];
  readonly #registry: WorkerRegistry;
  readonly #watchdog = new Watchdog();
  readonly #looking: NodeJS.Timeout;
  #hangs = 0;
  #identity: TlsIdentity | undefined;
  #ready = false;
  #port: number;
  #onListening: (() => void) | undefined;
  #onDrained: (() => void) | undefined;
  #failed: ((error: Error) => void) | undefined;

  constructor(options: ExtProcWorkersOptions) {
    this.#options = options;
    this.#registry = new WorkerRegistry(options.config.workers);
    this.#identity = options.identity;
    this.#port = options.config.extProcPort;
    this.#heartbeats = options.heartbeats.map((memory) => new HeartbeatReader(memory));
    this.#processes = this.#heartbeats.map((heartbeat, worker) =>
      this.#supervise(worker, heartbeat),
    );
    this.#looking = setInterval(() => this.#look(), lookIntervalMs);
    this.#looking.unref();
  }

  get running(): number {
    return this.#processes.filter(({ pid }) => pid !== undefined).length;
  }

  /** Workers that were started again after they ended unasked, ever. */
  get restarts(): number {
    return this.#processes.reduce((sum, { restarts }) => sum + restarts, 0);
  }

  /** Workers that hung and were ended, ever. */
  get hangs(): number {
    return this.#hangs;
  }

  /** Whether traffic may come; see `WorkerRegistry`. */
  get serving(): boolean {
    return this.#registry.serving;
  }

  /** The process of a worker that runs. */
  pid(worker: number): number | undefined {
    return this.#processes[worker]?.pid;
  }

  /** How busy the event loop of each running worker was since the last call, 0 to 1. */
  busyRatios(nowMs: number): Map<number, number> {
    const ratios = new Map<number, number>();
    for (const [worker, heartbeat] of this.#heartbeats.entries()) {
      const ratio = heartbeat.busyRatio(nowMs);
      if (this.pid(worker) !== undefined && !Number.isNaN(ratio)) ratios.set(worker, ratio);
    }
    return ratios;
  }

  /**
   * Starts all workers and gives the port they share. The first one comes first, as with port 0
   * it is the one that learns the number. Rejects when a worker ends instead of listening.
   */
  async start(): Promise<number> {
    for (const process of this.#processes) await this.#startWorker(process);
    return this.#port;
  }

  post(message: ToWorker): void {
    for (const process of this.#processes) process.post(message);
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

  /** Resolves when every worker is drained or has ended, or the grace period is over. */
  async drain(noticeMs: number, graceMs: number): Promise<void> {
    for (const process of this.#processes) process.retire();
    const drained = new Promise<void>((resolve) => {
      this.#onDrained = resolve;
      setTimeout(resolve, graceMs + drainSlackMs).unref();
    });
    this.post({ type: 'drain', noticeMs, graceMs });
    this.#checkDrained();
    await drained;
  }

  /** Ends all workers at once, whatever they are doing; drain them before. */
  async stop(): Promise<void> {
    clearInterval(this.#looking);
    await Promise.all(this.#processes.map((process) => process.stop()));
  }

  #supervise(worker: number, heartbeat: HeartbeatReader): WorkerProcess {
    const { memory, nodeOptions, random, logger, pools } = this.#options;
    return new SupervisedProcess({
      name: `worker-${worker}`,
      entry: new URL('../worker.ts', import.meta.url),
      nodeOptions,
      memory,
      start: () => this.#startOf(worker),
      greetings: () => [
        { type: 'pools', updates: pools(), removed: [] },
        { type: 'ready', ready: this.#ready },
      ],
      onStart: (pid) => this.#watchdog.begin(worker, pid, () => heartbeat.beats),
      onMessage: (message) => this.#receive(worker, message),
      onExit: () => this.#ended(worker),
      wait: new Backoff({ ...restart, random }),
      logger,
    });
  }

  #startOf(worker: number): WorkerStart {
    const { config, heldBytesMax, memorySize, scheduling } = this.#options;
    return {
      worker,
      memory: memorySize,
      extProc: extProcOptionsOf(config, this.#port, this.#identity, heldBytesMax),
      config: scheduling(),
      logLevel: config.logLevel,
    };
  }

  async #startWorker(process: WorkerProcess): Promise<void> {
    const listening = new Promise<void>((resolve, reject) => {
      this.#onListening = resolve;
      this.#failed = reject;
    });
    process.begin();
    try {
      await listening;
    } catch (error) {
      await this.stop();
      throw error;
    } finally {
      this.#failed = undefined;
    }
  }

  #receive(worker: number, message: FromWorker): void {
    if (message.type === 'listening') {
      this.#port = message.ports[0] ?? this.#port;
      this.#registry.listening(worker);
      this.#onListening?.();
    } else if (message.type === 'drained') {
      this.#registry.drained(worker);
      this.#checkDrained();
    } else this.#options.onScheduling(worker, message);
  }

  #ended(worker: number): void {
    this.#registry.ended(worker);
    this.#watchdog.end(worker);
    this.#heartbeats[worker]?.reset();
    this.#options.onExit(worker);
    this.#checkDrained();
    this.#failed?.(new Error('an ext_proc worker did not start; its fault is in the log'));
  }

  #look(): void {
    for (const worker of this.#watchdog.look()) {
      this.#hangs++;
      this.#options.logger.error({ worker, pid: this.pid(worker) }, 'worker hangs and is ended');
      this.#processes[worker]?.kill();
    }
  }

  #checkDrained(): void {
    if (this.#registry.allDrained(this.running)) this.#onDrained?.();
  }
}
