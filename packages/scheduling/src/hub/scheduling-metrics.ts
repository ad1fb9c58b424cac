/** What the scheduling of a picker shows on `/metrics`: sums over the workers, pools as labels. */
import { registerReadCounters } from '@leadsman/service';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { PoolSnapshot } from '../shared/messages.ts';
import { registerFlowControlMetrics } from './flow-control-metrics.ts';
import type { SchedulingHub } from './scheduling-hub.ts';

/** Registers the metrics; they are filled when the page is rendered. */
export function registerSchedulingMetrics(
  registry: Registry,
  hub: SchedulingHub,
  clock: () => number,
): void {
  registerPicks(registry, hub);
  registerPools(registry, hub);
  registerFlowControlMetrics(registry, hub);
  registerCacheFeedback(registry, hub);
  registerReplicas(registry, hub, clock);
  single(registry, 'reloads_total', 'Scheduling configurations taken over', () => hub.reloads);
  single(registry, 'reloads_failed_total', 'Refused configurations', () => hub.reloadsFailed);
  single(
    registry,
    'requests_uncounted_total',
    'Requests in flight beyond the table',
    () => hub.totals.overflowedTickets,
  );
  single(registry, 'adapters_dropped_total', 'LoRA adapters beyond the table', () =>
    hub.totals.pools().reduce((total, pool) => total + pool.droppedAdapters, 0),
  );
  const faults = new Counter({
    name: 'leadsman_picker_extension_faults_total',
    help: 'Parts of extensions that were switched off after a fault',
    labelNames: ['pool', 'part'],
    registers: [registry],
    collect(): void {
      faults.reset();
      for (const [key, count] of hub.faults) {
        const at = key.lastIndexOf(' ');
        faults.inc({ pool: key.slice(0, at), part: key.slice(at + 1) }, count);
      }
    },
  });
}

function registerPicks(registry: Registry, hub: SchedulingHub): void {
  const picks = new Counter({
    name: 'leadsman_picker_scheduling_outcomes_total',
    help: 'Picks by strategy, and refusals by reason',
    labelNames: ['pool', 'outcome'],
    registers: [registry],
    collect(): void {
      picks.reset();
      for (const pool of hub.totals.pools()) {
        for (const [outcome, count] of Object.entries(pool.outcomes)) {
          picks.inc({ pool: pool.pool, outcome }, count);
        }
      }
    },
  });
  const lastResort = new Counter({
    name: 'leadsman_picker_last_resort_picks_total',
    help: 'Picks of endpoints without fresh numbers',
    labelNames: ['pool'],
    registers: [registry],
    collect(): void {
      lastResort.reset();
      for (const pool of hub.totals.pools())
        lastResort.inc({ pool: pool.pool }, pool.lastResortPicks);
    },
  });
  const foreign = new Counter({
    name: 'leadsman_picker_foreign_reports_total',
    help: 'Reports that stated another address than their member has',
    labelNames: ['pool'],
    registers: [registry],
    collect(): void {
      foreign.reset();
      for (const pool of hub.totals.pools()) foreign.inc({ pool: pool.pool }, pool.foreignReports);
    },
  });
}

function registerPools(registry: Registry, hub: SchedulingHub): void {
  const endpoints = new Gauge({
    name: 'leadsman_picker_pool_endpoints',
    help: 'Members of a pool by how far their numbers are believed',
    labelNames: ['pool', 'state'],
    registers: [registry],
    collect(): void {
      endpoints.reset();
      for (const pool of newestPools(hub)) {
        for (const state of ['fresh', 'stale', 'suspect', 'sleeping', 'unreachable'] as const) {
          endpoints.set({ pool: pool.pool, state }, pool[state]);
        }
      }
    },
  });
  const saturated = new Gauge({
    name: 'leadsman_picker_pool_saturated',
    help: '1 while every fresh endpoint of the pool is saturated',
    labelNames: ['pool'],
    registers: [registry],
    collect(): void {
      saturated.reset();
      for (const pool of newestPools(hub)) {
        saturated.set({ pool: pool.pool }, pool.isSaturated ? 1 : 0);
      }
    },
  });
  const blind = new Gauge({
    name: 'leadsman_picker_pool_blind',
    help: '1 while no member of the pool has fresh numbers: requests are spread by in-flight counts',
    labelNames: ['pool'],
    registers: [registry],
    collect(): void {
      blind.reset();
      for (const pool of newestPools(hub)) blind.set({ pool: pool.pool }, pool.fresh === 0 ? 1 : 0);
    },
  });
}

function registerCacheFeedback(registry: Registry, hub: SchedulingHub): void {
  const hits = new Gauge({
    name: 'leadsman_picker_prefix_hit_ratio',
    help: 'Share of prompt tokens in caches, as expected at picks and as found by engines',
    labelNames: ['of'],
    registers: [registry],
    collect(): void {
      hits.reset();
      const { expected, engine } = hub.cacheFeedback();
      if (Number.isNaN(expected)) return;
      hits.set({ of: 'expected' }, expected);
      hits.set({ of: 'engine' }, engine);
    },
  });
  single(
    registry,
    'prefix_size_ratio',
    'Part of reported KV sizes the prefix index goes by',
    () => {
      const { scale } = hub.cacheFeedback();
      return Number.isNaN(scale) ? 1 : scale;
    },
  );
}

function registerReplicas(registry: Registry, hub: SchedulingHub, clock: () => number): void {
  const { exchange } = hub;
  if (exchange === undefined) return;
  single(registry, 'replicas', 'Other replicas heard of', () => exchange.replicas.size);
  single(registry, 'replicas_ignored', 'Other replicas whose requests are too late to count', () =>
    [...exchange.replicas.values()].reduce((late, { isCounted }) => late + (isCounted ? 0 : 1), 0),
  );
  single(
    registry,
    'replica_delay_seconds',
    'Delay of the slowest replica',
    () => exchange.delayMs(clock()) / 1_000,
  );
  const { counters, sender } = exchange;
  single(registry, 'replica_messages_total', 'Messages taken', () => counters.messages);
  single(registry, 'replica_messages_malformed_total', 'Refused', () => counters.malformed);
  single(registry, 'replica_messages_repeated_total', 'Repeated or old', () => counters.repeated);
  single(registry, 'replica_messages_missed_total', 'Lost on the way', () => counters.missed);
  single(
    registry,
    'replica_name_conflicts_total',
    'Messages of another process under this name',
    () => counters.nameConflicts,
  );
  single(registry, 'replicas_refused_total', 'Messages of replicas beyond the limit', () => {
    return counters.refusedReplicas;
  });
  single(
    registry,
    'replica_unknown_endpoints_total',
    'Loads and prompts for endpoints unknown here',
    () => counters.unknownEndpoints,
  );
  single(registry, 'replica_prompts_total', 'Prompts learned from other replicas', () => {
    return counters.historyRecords;
  });
  single(
    registry,
    'replica_history_dropped_total',
    'Prompts not told for want of budget or room',
    () => hub.histories.reduce((total, ring) => total + ring.dropped, sender.historyDropped),
  );
  single(registry, 'replica_history_bytes_total', 'Bytes of prompts told', () => {
    return sender.historyBytes;
  });
}

function single(registry: Registry, name: string, help: string, read: () => number): void {
  if (name.endsWith('_total')) {
    registerReadCounters(registry, 'picker', [[name, help, read]]);
    return;
  }
  const options = { name: `leadsman_picker_${name}`, help, registers: [registry] };
  const gauge: Gauge = new Gauge({ ...options, collect: (): void => gauge.set(read()) });
}

/** Pools as one worker sees them: all read the same view. */
function newestPools(hub: SchedulingHub): PoolSnapshot[] {
  const first = hub.totals.live.values().next();
  return first.done === true ? [] : first.value.pools;
}
