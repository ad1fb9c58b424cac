/**
 * Scheduling as the main thread runs it: the configuration and its reloads, the exchange with
 * other replicas, and the workers' numbers.
 *
 * Nothing on the path of a request waits for it. Should the main thread stall, workers go on with
 * the configuration and the remote numbers they have.
 */
import type { Logger } from '@leadsman/service';
import { podKeyFromUid } from '@leadsman/wire';
import type { PoolUpdate } from '../endpoint.ts';
import { PrefixIndex } from '../prefix/prefix-index.ts';
import type { SchedulingConfig } from '../scheduling-config.ts';
import { HistoryReader } from '../shared/history-ring.ts';
import type { InFlightTable } from '../shared/in-flight-table.ts';
import type { SchedulingFromWorker, SchedulingToWorker } from '../shared/messages.ts';
import type { SchedulingMemory } from '../shared/shared-memory.ts';
import { EndpointNames } from './replica/endpoint-names.ts';
import { ReplicaExchange } from './replica/replica-exchange.ts';
import type { ReplicaTransport } from './replica/replica-transport.ts';
import type { ConfigSource } from './strategy-file/config-source.ts';
import type { StrategyFile } from './strategy-file/strategy-file.ts';
import { StrategyFileError } from './strategy-file/strategy-file-error.ts';
import { WorkerTotals } from './worker-totals.ts';

export interface SchedulingHubOptions {
  source: ConfigSource;
  /** What `source.load` gave at the start; the memory was made by it. */
  loaded: StrategyFile;
  memory: SchedulingMemory;
  /** Read only. */
  inFlight: InFlightTable;
  /** `undefined`: this replica is alone. */
  transport: ReplicaTransport | undefined;
  replicaName: string;
  /** Rises with every start of the replica: the wall clock in ms will do. */
  epoch: number;
  /** Threads that run now. */
  workers(): number;
  /** Threads that were started again after they died, ever. */
  restarts(): number;
  /** To every running worker. */
  post(message: SchedulingToWorker): void;
  /** Monotonic, ms. */
  clock: () => number;
  logger: Logger;
}

/** What became of a reload. */
export type ReloadResult =
  | { ok: true; warnings: readonly string[] }
  | { ok: false; problems: readonly string[] };

/** How long workers may take to load a configuration's modules, ms. */
const applyTimeoutMs = 5_000;
const snapshotIntervalMs = 1_000;

export class SchedulingHub {
  readonly exchange: ReplicaExchange | undefined;
  /** Rings of the workers' routing history; none without an exchange. */
  readonly histories: readonly HistoryReader[];
  /** What the workers have counted. */
  readonly totals = new WorkerTotals();
  reloads = 0;
  reloadsFailed = 0;
  /** Parts of users that were switched off, by pool and part. */
  readonly faults = new Map<string, number>();
  readonly #options: SchedulingHubOptions;
  readonly #names = new EndpointNames();
  readonly #prefixIndex: PrefixIndex;
  #config: SchedulingConfig;
  #version = 1;
  #reloading: Promise<unknown> = Promise.resolve();
  #answers: { version: number; left: number; problems: string[]; done: () => void } | undefined;
  #timers: NodeJS.Timeout[] = [];

  constructor(options: SchedulingHubOptions) {
    this.#options = options;
    this.#config = options.loaded.config;
    for (const warning of options.loaded.warnings) options.logger.warn(warning);
    const { transport, memory, inFlight, epoch } = options;
    this.#prefixIndex = new PrefixIndex(memory.prefix, memory.prefixShape);
    const rings = transport === undefined ? [] : memory.histories;
    this.histories = rings.map((buffer) => new HistoryReader(buffer));
    if (transport === undefined) return;
    this.exchange = new ReplicaExchange({
      replicaId: podKeyFromUid(options.replicaName),
      epoch,
      inFlight,
      remote: memory.remote,
      prefixIndex: this.#prefixIndex,
      names: this.#names,
      histories: this.histories,
      config: this.#config.replicas,
      messageBytesMax: transport.messageBytesMax,
      send: (message) => transport.send(message),
    });
  }

  /** The configuration in use; workers start with it. */
  get config(): SchedulingConfig {
    return this.#config;
  }

  start(): void {
    const { transport, source, clock, post } = this.#options;
    const { exchange } = this;
    if (exchange !== undefined && transport !== undefined) {
      transport.start((message) => exchange.receive(message, clock()));
      const { shareIntervalMs } = this.#config.replicas;
      this.#timers.push(setInterval(() => exchange.flush(clock()), shareIntervalMs));
    }
    this.#timers.push(setInterval(() => post({ type: 'scheduling-snapshot' }), snapshotIntervalMs));
    for (const timer of this.#timers) timer.unref();
    source.watch(() => void this.reload());
  }

  async stop(): Promise<void> {
    this.#options.source.stop();
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
    this.exchange?.leave(this.#options.clock());
    await this.#reloading;
  }

  /** Pools changed; tell this before the workers, so that no old cache is taken for a new pod's. */
  poolsChanged(updates: readonly PoolUpdate[], removed: readonly string[]): void {
    for (const pool of removed) this.totals.removePool(pool);
    const changed = this.#names.update(updates, removed);
    for (const index of changed) this.#prefixIndex.blocks.clear(index);
    this.exchange?.forget(changed);
  }

  /**
   * What the prefix index expects of the engines' caches and what they find, in the mean of the
   * endpoints that tell, and the part of their reported sizes it goes by; NaN when none tells.
   */
  cacheFeedback(): { expected: number; engine: number; scale: number } {
    const sum = { expected: 0, engine: 0, scale: 0 };
    let told = 0;
    for (let index = 0; index < this.#names.width; index++) {
      const ratios = this.#names.at(index) && this.#prefixIndex.feedback.ratios(index);
      if (ratios === undefined) continue;
      told++;
      sum.expected += ratios.expected;
      sum.engine += ratios.engine;
      sum.scale += this.#prefixIndex.blocks.scaleOf(index);
    }
    const { expected, engine, scale } = sum;
    return { expected: expected / told, engine: engine / told, scale: scale / told };
  }

  /** A message of a worker that is of scheduling's. */
  receive(worker: number, message: SchedulingFromWorker): void {
    if (message.type === 'scheduling-snapshot') this.totals.take(worker, message.snapshot);
    else if (message.type === 'scheduling-configured') this.#answered(message);
    else this.#faulted(message);
  }

  /** A worker ended: its successor counts from 0. */
  forgetWorker(worker: number): void {
    this.totals.end(worker);
  }

  /** Reads the configuration anew and swaps it in; on any fault the last good one stays. */
  reload(): Promise<ReloadResult> {
    const result = this.#reloading.then(() => this.#reload());
    this.#reloading = result;
    return result;
  }

  async #reload(): Promise<ReloadResult> {
    const { logger, source } = this.#options;
    let loaded: StrategyFile;
    try {
      loaded = await source.load();
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      return this.#refuse(error instanceof StrategyFileError ? error.problems : [text]);
    }
    const restarts = this.#options.restarts();
    const problems = await this.#apply(loaded.config);
    if (problems.length > 0) {
      await this.#apply(this.#config);
      return this.#refuse(problems);
    }
    const warnings = [...loaded.warnings, ...restartWarnings(this.#config, loaded.config)];
    this.#config = loaded.config;
    // A thread that was started while the others changed over began with the former one.
    if (this.#options.restarts() !== restarts) await this.#apply(this.#config);
    this.reloads++;
    for (const warning of warnings) logger.warn(warning);
    logger.info({ version: this.#version }, 'scheduling configuration in use');
    return { ok: true, warnings };
  }

  #refuse(problems: readonly string[]): ReloadResult {
    this.reloadsFailed++;
    this.#options.logger.error(
      { problems },
      'scheduling configuration refused, the last one stays',
    );
    return { ok: false, problems };
  }

  /** Sends a configuration to the workers; returns their objections. */
  async #apply(config: SchedulingConfig): Promise<string[]> {
    const { workers, post } = this.#options;
    const version = ++this.#version;
    const problems: string[] = [];
    if (workers() === 0) return problems;
    await new Promise<void>((done) => {
      const timer = setTimeout(() => {
        problems.push('a worker did not answer in time');
        done();
      }, applyTimeoutMs);
      timer.unref();
      const finish = (): void => {
        clearTimeout(timer);
        done();
      };
      this.#answers = { version, left: workers(), problems, done: finish };
      post({ type: 'scheduling', version, config });
    });
    this.#answers = undefined;
    return [...new Set(problems)];
  }

  #answered({ version, problem }: { version: number; problem: string | undefined }): void {
    const answers = this.#answers;
    if (answers === undefined || answers.version !== version) return;
    if (problem !== undefined) answers.problems.push(problem);
    if (--answers.left <= 0) answers.done();
  }

  #faulted({ pool, part, problem }: { pool: string; part: string; problem: string }): void {
    const key = `${pool} ${part}`;
    const seen = this.faults.get(key) ?? 0;
    this.faults.set(key, seen + 1);
    if (seen > 0) return;
    this.#options.logger.error({ pool, part, problem }, 'part of an extension switched off');
  }
}

function restartWarnings(before: SchedulingConfig, after: SchedulingConfig): string[] {
  const warnings: string[] = [];
  for (const field of ['prefixIndex', 'replicas'] as const) {
    if (JSON.stringify(before[field]) !== JSON.stringify(after[field])) {
      warnings.push(`${field} takes effect at the next start`);
    }
  }
  return warnings;
}
