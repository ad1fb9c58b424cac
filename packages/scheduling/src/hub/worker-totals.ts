/**
 * The numbers of all workers as the metrics page needs them: what is counted must never fall, or a
 * monitor takes the fall for a new start and counts everything again. So what a worker had counted
 * when it ended stays, beside the numbers of those that run.
 */
import type { FlowControlSnapshot, PoolSnapshot, SchedulingSnapshot } from '../shared/messages.ts';
import { waitingOf } from './waiting-requests.ts';

/** What is counted of a pool since the start. */
export type PoolCounts = Pick<
  PoolSnapshot,
  'pool' | 'outcomes' | 'lastResortPicks' | 'foreignReports' | 'droppedAdapters'
> & {
  /** Ends of waiting by priority and outcome, in that order. */
  waits: Readonly<Record<string, number>>;
};

export class WorkerTotals {
  readonly #live = new Map<number, SchedulingSnapshot>();
  /** By pool, of workers that ended; as many as there are pools. */
  readonly #ended = new Map<string, PoolCounts>();
  #endedOverflowed = 0;

  /** Latest numbers of each worker that runs and has answered. */
  get live(): ReadonlyMap<number, SchedulingSnapshot> {
    return this.#live;
  }

  /** Requests in flight that were not counted, ever. */
  get overflowedTickets(): number {
    let total = this.#endedOverflowed;
    for (const { overflowedTickets } of this.#live.values()) total += overflowedTickets;
    return total;
  }

  /** Counts by pool and worker, to be added up. */
  pools(): PoolCounts[] {
    const pools: PoolCounts[] = [...this.#ended.values()];
    for (const snapshot of this.#live.values()) pools.push(...snapshot.pools.map(countsOf));
    return pools;
  }

  /** Requests of the pool that wait in any worker; `undefined` where flow control is off. */
  waiting(pool: string): FlowControlSnapshot | undefined {
    const everywhere = [...this.#live.values()].flatMap(({ pools }) => pools);
    return waitingOf(everywhere.filter((one) => one.pool === pool));
  }

  take(worker: number, snapshot: SchedulingSnapshot): void {
    this.#live.set(worker, snapshot);
  }

  /** A worker ended: its successor counts from 0. */
  end(worker: number): void {
    const last = this.#live.get(worker);
    if (last === undefined) return;
    this.#live.delete(worker);
    this.#endedOverflowed += last.overflowedTickets;
    for (const pool of last.pools) {
      this.#ended.set(pool.pool, sum(countsOf(pool), this.#ended.get(pool.pool)));
    }
  }

  /** The pool is no longer served, and its series end. */
  removePool(pool: string): void {
    this.#ended.delete(pool);
  }
}

function countsOf(pool: PoolSnapshot): PoolCounts {
  const waits: Record<string, number> = {};
  for (const { priority, outcomes } of pool.flowControl?.bands ?? []) {
    for (const [outcome, count] of Object.entries(outcomes))
      waits[`${priority} ${outcome}`] = count;
  }
  return { ...pool, waits };
}

function sum(one: PoolCounts, other: PoolCounts | undefined): PoolCounts {
  return {
    pool: one.pool,
    outcomes: added(one.outcomes, other?.outcomes),
    waits: added(one.waits, other?.waits),
    lastResortPicks: one.lastResortPicks + (other?.lastResortPicks ?? 0),
    foreignReports: one.foreignReports + (other?.foreignReports ?? 0),
    droppedAdapters: one.droppedAdapters + (other?.droppedAdapters ?? 0),
  };
}

function added(
  one: Readonly<Record<string, number>>,
  other: Readonly<Record<string, number>> = {},
): Record<string, number> {
  const both = { ...one };
  for (const [name, count] of Object.entries(other)) both[name] = (both[name] ?? 0) + count;
  return both;
}
