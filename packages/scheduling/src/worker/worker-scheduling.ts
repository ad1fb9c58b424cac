/**
 * Scheduling as a worker runs it: a {@link WorkerScheduler} over the fleet view, its timer,
 * and the swap of configurations.
 *
 * Loading a configuration may import modules, hence it is asynchronous; the swap itself happens
 * between two picks. When loading fails the last good configuration stays.
 */

import { trust } from '@leadsman/view/trust';
import { PrefixIndex } from '../prefix/prefix-index.ts';
import type { Random } from '../random.ts';
import type { SchedulingConfig } from '../scheduling-config.ts';
import { HistoryWriter } from '../shared/history-ring.ts';
import type { InFlightTable } from '../shared/in-flight-table.ts';
import type { SchedulingFromWorker, SchedulingSnapshot } from '../shared/messages.ts';
import type { SchedulingMemory } from '../shared/shared-memory.ts';
import { policiesOf } from './build-policy.ts';
import type { GaugeSource } from './candidates/gauge-source.ts';
import { isPoolSaturated } from './candidates/saturation.ts';
import { loadExtension } from './extension/load-extension.ts';
import { flowControlSnapshot } from './flow-control/snapshot.ts';
import { type PolicyFor, WorkerScheduler } from './worker-scheduler.ts';

export interface WorkerSchedulingOptions {
  worker: number;
  /** The worker's own reader of the fleet view. */
  source: GaugeSource;
  /** With this worker's row. */
  inFlight: InFlightTable;
  memory: SchedulingMemory;
  config: SchedulingConfig;
  random: Random;
  /** Monotonic, ms; the same clock that requests carry. */
  clock: () => number;
  post(message: SchedulingFromWorker): void;
}

/** Half of the history's granularity is lost on average: 5 ms against reports 50 ms apart. */
const tickMs = 10;

export class WorkerScheduling {
  readonly scheduler: WorkerScheduler;
  readonly #options: WorkerSchedulingOptions;
  readonly #timer: NodeJS.Timeout;
  #configuring: Promise<void> = Promise.resolve();

  /** Loads the configuration's modules and starts. Throws when they cannot be loaded. */
  static async open(options: WorkerSchedulingOptions): Promise<WorkerScheduling> {
    const policyFor = await load(options.config, options.post);
    return new WorkerScheduling(options, policyFor);
  }

  private constructor(options: WorkerSchedulingOptions, policyFor: PolicyFor) {
    const { memory, worker } = options;
    const history = memory.histories[worker];
    this.#options = options;
    this.scheduler = new WorkerScheduler({
      source: options.source,
      inFlight: options.inFlight,
      remote: memory.remote,
      prefixIndex: new PrefixIndex(memory.prefix, memory.prefixShape),
      history: history === undefined ? undefined : new HistoryWriter(history),
      random: options.random,
      policyFor,
    });
    this.#timer = setInterval(() => this.scheduler.tick(options.clock()), tickMs);
    this.#timer.unref();
  }

  /** Swaps the configuration and answers by message; one at a time, in order of the calls. */
  configure(version: number, config: SchedulingConfig): Promise<void> {
    this.#configuring = this.#configuring.then(() => this.#swap(version, config));
    return this.#configuring;
  }

  snapshot(): SchedulingSnapshot {
    const { pools, tickets } = this.scheduler;
    return {
      pools: [...pools.values()].map((pool) => ({
        pool: pool.name,
        strategy: pool.policy.strategyName,
        outcomes: Object.fromEntries(pool.outcomes),
        lastResortPicks: pool.lastResortPicks,
        foreignReports: pool.table.foreignReports,
        droppedAdapters: pool.table.adapters.dropped,
        fresh: pool.table.classCounts[trust.fresh] ?? 0,
        stale: pool.table.classCounts[trust.stale] ?? 0,
        suspect: pool.table.classCounts[trust.suspect] ?? 0,
        sleeping: pool.table.classCounts[trust.sleeping] ?? 0,
        unreachable: pool.table.classCounts[trust.unreachable] ?? 0,
        isSaturated: isPoolSaturated(pool.table, pool.policy.saturation),
        flowControl: flowControlSnapshot(pool.flowControl, this.#options.clock()),
      })),
      openTickets: tickets.open,
      overflowedTickets: tickets.overflowed,
    };
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #swap(version: number, config: SchedulingConfig): Promise<void> {
    const { post, clock } = this.#options;
    let problem: string | undefined;
    try {
      const policyFor = await load(config, post);
      this.scheduler.use(policyFor, clock());
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
    }
    post({ type: 'scheduling-configured', version, problem });
  }
}

async function load(
  config: SchedulingConfig,
  post: (message: SchedulingFromWorker) => void,
): Promise<PolicyFor> {
  const extensions = await Promise.all(config.extensions.map(loadExtension));
  const policyFor = policiesOf(config, extensions, (pool, part, error) => {
    const problem = error instanceof Error ? error.message : String(error);
    post({ type: 'scheduling-fault', pool, part, problem });
  });
  // Built once here: a part that cannot be made must fail the load, not the thread when its pool
  // comes, which would then die again at each start.
  for (const pool of ['', ...Object.keys(config.pools)]) policyFor(pool);
  return policyFor;
}
