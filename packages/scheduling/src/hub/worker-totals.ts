/**
 * The numbers of all workers as the metrics page needs them: what is counted must never fall, or a
 * monitor takes the fall for a new start and counts everything again. So what a worker had counted
 * when it ended stays, beside the numbers of those that run.
 */
import type { PoolSnapshot, SchedulingSnapshot } from '../shared/messages.ts';

/** What is counted of a pool since the start. */
export type PoolCounts = Pick<
  PoolSnapshot,
  'pool' | 'outcomes' | 'lastResortPicks' | 'foreignReports' | 'droppedAdapters'
>;

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
    for (const snapshot of this.#live.values()) pools.push(...snapshot.pools);
    return pools;
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
    for (const pool of last.pools)
      this.#ended.set(pool.pool, sum(pool, this.#ended.get(pool.pool)));
  }

  /** The pool is no longer served, and its series end. */
  removePool(pool: string): void {
    this.#ended.delete(pool);
  }
}

function sum(one: PoolCounts, other: PoolCounts | undefined): PoolCounts {
  const outcomes = { ...one.outcomes };
  for (const [name, count] of Object.entries(other?.outcomes ?? {})) {
    outcomes[name] = (outcomes[name] ?? 0) + count;
  }
  return {
    pool: one.pool,
    outcomes,
    lastResortPicks: one.lastResortPicks + (other?.lastResortPicks ?? 0),
    foreignReports: one.foreignReports + (other?.foreignReports ?? 0),
    droppedAdapters: one.droppedAdapters + (other?.droppedAdapters ?? 0),
  };
}
