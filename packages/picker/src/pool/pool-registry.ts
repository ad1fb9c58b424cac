/**
 * All pools of this picker as its main thread knows them: takes what a membership source tells,
 * gives endpoints their positions, and hands the workers a whole list per changed pool.
 *
 * It remembers the newest list of each pool, so that a worker that starts late (or again, after a
 * crash) gets all of them at once.
 */
import type { Endpoint, PoolMembers, PoolUpdate } from '@leadsman/scheduling/endpoint';
import type { EndpointIndex } from './endpoint-index.ts';
import type { MembershipListener } from './membership.ts';

/** One pool for people: `/v1/pools`, logs. */
export interface PoolStatus {
  pool: string;
  version: number;
  authorities: readonly string[];
  endpoints: readonly Endpoint[];
  /** Why there are fewer endpoints than one may expect; empty when all is as it should be. */
  reasons: readonly string[];
}

export interface PoolChanges {
  poolUpdated(update: PoolUpdate): void;
  poolRemoved(pool: string): void;
}

interface Entry {
  update: PoolUpdate;
  reasons: readonly string[];
}

export class PoolRegistry implements MembershipListener {
  readonly #index: EndpointIndex;
  readonly #changes: PoolChanges;
  readonly #nowMs: () => number;
  readonly #pools = new Map<string, Entry>();
  #version = 0;

  constructor(options: { index: EndpointIndex; changes: PoolChanges; nowMs: () => number }) {
    this.#index = options.index;
    this.#changes = options.changes;
    this.#nowMs = options.nowMs;
  }

  poolChanged(members: PoolMembers): void {
    this.#version++;
    const dropped = this.#index.dropped;
    const endpoints = this.#index.assign(members.pool, members.members, this.#nowMs());
    const left = this.#index.dropped - dropped;
    const update: PoolUpdate = {
      pool: members.pool,
      version: this.#version,
      authorities: members.authorities,
      objectives: members.objectives,
      endpoints,
    };
    const full = left > 0 ? [`${left} endpoints are beyond --endpoints-max`] : [];
    this.#pools.set(members.pool, { update, reasons: [...members.reasons, ...full] });
    this.#changes.poolUpdated(update);
  }

  poolRemoved(pool: string): void {
    if (!this.#pools.delete(pool)) return;
    this.#index.removePool(pool, this.#nowMs());
    this.#changes.poolRemoved(pool);
  }

  /** The newest list of every pool. */
  updates(): PoolUpdate[] {
    return [...this.#pools.values()].map((entry) => entry.update);
  }

  status(): PoolStatus[] {
    return [...this.#pools.values()].map(({ update, reasons }) => ({
      pool: update.pool,
      version: update.version,
      authorities: update.authorities,
      endpoints: update.endpoints,
      reasons,
    }));
  }
}
