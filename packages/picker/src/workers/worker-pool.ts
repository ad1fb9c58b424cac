/**
 * The picker's ext_proc threads as its main thread sees them: started together, told the same
 * things, and started again when one dies.
 *
 * A thread that dies takes its open exchanges with it (the gateway's failure mode decides what
 * becomes of those requests), nothing else: the other threads share its port and go on. What it
 * had counted as in flight is taken back by `onExit` before its successor starts.
 */
import type { EventLoopUtilization } from 'node:perf_hooks';
import { Worker } from 'node:worker_threads';
import type { Logger } from '@leadsman/service';

/** First and longest wait before a dead thread is started again, ms. */
export const restartDelayMs = { first: 50, longest: 5_000 } as const;

/** How long a thread must have lived for its next death to count as the first again, ms. */
const settledAfterMs = 30_000;

export interface WorkerPoolOptions<ToWorker, FromWorker> {
  /** Number of threads. */
  count: number;
  /** The thread's entry file. */
  entry: URL;
  /** `workerData` of thread `worker`, 0 ≤ worker < count. */
  dataFor(worker: number): unknown;
  /** What a thread is told first, also when it starts again. */
  greetings(worker: number): ToWorker[];
  onMessage(worker: number, message: FromWorker): void;
  /** After a thread ended that was not told to. */
  onExit(worker: number): void;
  logger: Logger;
}

interface Slot {
  thread: Worker | undefined;
  startedAtMs: number;
  delayMs: number;
  restart: NodeJS.Timeout | undefined;
  /** Since the thread's start, as of the last look. */
  seen: EventLoopUtilization | undefined;
}

export class WorkerPool<ToWorker, FromWorker> {
  readonly #options: WorkerPoolOptions<ToWorker, FromWorker>;
  readonly #slots: Slot[] = [];
  #stopping = false;
  #retired = false;
  #restarts = 0;

  constructor(options: WorkerPoolOptions<ToWorker, FromWorker>) {
    this.#options = options;
    for (let worker = 0; worker < options.count; worker++) {
      this.#slots.push({
        thread: undefined,
        startedAtMs: 0,
        delayMs: restartDelayMs.first,
        restart: undefined,
        seen: undefined,
      });
    }
  }

  /** Threads that died and were started again, since the start. */
  get restarts(): number {
    return this.#restarts;
  }

  /** Threads that run now. */
  get running(): number {
    return this.#slots.filter((slot) => slot.thread !== undefined).length;
  }

  /**
   * Starts thread `worker`, 0 ≤ worker < count, once. The first may have to tell which port the
   * system gave it before the others can share it.
   */
  start(worker: number): void {
    const slot = this.#slots[worker];
    if (slot === undefined || slot.thread !== undefined) {
      throw new RangeError(`thread ${worker} cannot be started`);
    }
    this.#startThread(worker, slot);
  }

  /** Tells every running thread; one that is down gets the greetings when it is back. */
  post(message: ToWorker): void {
    for (const slot of this.#slots) slot.thread?.postMessage(message);
  }

  /** Tells one thread, if it runs. */
  postTo(worker: number, message: ToWorker): void {
    this.#slots[worker]?.thread?.postMessage(message);
  }

  /** From now on a thread that ends is not started again: the process is about to end. */
  retire(): void {
    this.#retired = true;
    for (const slot of this.#slots) clearTimeout(slot.restart);
  }

  /**
   * How busy the event loop of each running thread was since the last call, 0..1 by its number. A
   * thread at 1 serves late or not at all, and cannot tell so itself.
   */
  utilization(): Map<number, number> {
    const ratios = new Map<number, number>();
    for (const [worker, slot] of this.#slots.entries()) {
      if (slot.thread === undefined) continue;
      const { performance } = slot.thread;
      const now = performance.eventLoopUtilization();
      const since = performance.eventLoopUtilization(now, slot.seen);
      slot.seen = now;
      ratios.set(worker, since.utilization);
    }
    return ratios;
  }

  /** A thread that runs. */
  thread(worker: number): Worker | undefined {
    return this.#slots[worker]?.thread;
  }

  /** Ends all threads at once, whatever they are doing; drain them before. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const ends: Promise<number>[] = [];
    for (const slot of this.#slots) {
      clearTimeout(slot.restart);
      if (slot.thread !== undefined) ends.push(slot.thread.terminate());
    }
    await Promise.all(ends);
  }

  #startThread(worker: number, slot: Slot): void {
    const { logger } = this.#options;
    const thread = new Worker(this.#options.entry, {
      workerData: this.#options.dataFor(worker),
      name: `ext_proc-${worker}`,
    });
    slot.thread = thread;
    slot.seen = undefined;
    slot.startedAtMs = performance.now();
    for (const message of this.#options.greetings(worker)) thread.postMessage(message);
    thread.on('message', (message: FromWorker) => this.#options.onMessage(worker, message));
    thread.on('error', (error) => logger.error({ err: error, worker }, 'ext_proc thread failed'));
    thread.on('exit', (code) => {
      slot.thread = undefined;
      if (this.#stopping) return;
      logger.error({ worker, code, restarts: !this.#retired }, 'ext_proc thread ended');
      this.#options.onExit(worker);
      if (!this.#retired) this.#restartLater(worker, slot);
    });
  }

  #restartLater(worker: number, slot: Slot): void {
    if (performance.now() - slot.startedAtMs > settledAfterMs) {
      slot.delayMs = restartDelayMs.first;
    }
    slot.restart = setTimeout(() => {
      this.#restarts++;
      this.#startThread(worker, slot);
    }, slot.delayMs);
    slot.delayMs = Math.min(slot.delayMs * 2, restartDelayMs.longest);
  }
}
