/**
 * The picker's own metrics, summed over its workers. The numbers lie in memory that the workers
 * write; they are read when somebody scrapes. No label comes out of a request.
 */

import { type CounterName, type Counters, counterNames } from '@leadsman/ext-proc/counters';
import { type ReadCounter, registerReadCounters } from '@leadsman/service';
import { Gauge, type Registry } from 'prom-client';
import type { PoolStatus } from '../pool/pool-registry.ts';

export interface PickerNumbers {
  counters: readonly Counters[];
  pools: () => PoolStatus[];
  inFlight: (index: number) => number;
  /** Members that are scraped less often than their numbers are trusted. */
  slowReports: (pool: PoolStatus) => number;
  workers: {
    readonly running: number;
    readonly restarts: number;
    readonly hangs: number;
    busyRatios(nowMs: number): ReadonlyMap<number, number>;
  };
  nowMs: () => number;
  endpointsDropped: () => number;
  collector: { readonly restarts: number; readonly hangs: number };
  notReady: () => string | undefined;
}

const help: Partial<Record<CounterName, string>> = {
  exchanges_started: 'ext_proc streams begun.',
  picks: 'Requests an endpoint was picked for.',
  refused_no_endpoint: 'Requests answered 503 as no endpoint was eligible.',
  refused_shed: 'Requests answered 429 as the pool was saturated.',
  unexpected_messages: 'ext_proc messages that did not fit the state of their exchange.',
};

/** Adds all of them to `registry`. */
export function registerPickerMetrics(registry: Registry, numbers: PickerNumbers): void {
  registerReadCounters(registry, 'picker', counterNames.map(ofWorkers(numbers)));
  registerReadCounters(registry, 'picker', [
    [
      'worker_restarts_total',
      'Workers started again after a fault.',
      () => numbers.workers.restarts,
    ],
    [
      'worker_hangs_total',
      'Workers that hung, and were ended to be started again.',
      () => numbers.workers.hangs,
    ],
    [
      'collector_restarts_total',
      'Collectors started again after a fault.',
      () => numbers.collector.restarts,
    ],
    [
      'collector_hangs_total',
      'Collectors that hung, and were ended to be started again.',
      () => numbers.collector.hangs,
    ],
    [
      'endpoints_dropped_total',
      'Times that an endpoint was beyond --endpoints-max.',
      () => numbers.endpointsDropped(),
    ],
  ]);
  gauge(registry, 'leadsman_picker_workers', 'Workers that run.', () => {
    return numbers.workers.running;
  });
  busyWorkers(registry, numbers);
  gauge(registry, 'leadsman_picker_ready', '1 while traffic should come here.', () => {
    return numbers.notReady() === undefined ? 1 : 0;
  });
  perPool(
    registry,
    'leadsman_picker_pool_members',
    'Endpoints that belong to the pool.',
    numbers,
    (pool) => {
      return pool.endpoints.length;
    },
  );
  const slowText = 'Members that are scraped less often than their numbers are trusted.';
  perPool(registry, 'leadsman_picker_pool_slow_reports', slowText, numbers, numbers.slowReports);
  const inFlightText = 'Requests of this picker that have not ended.';
  perPool(registry, 'leadsman_picker_pool_in_flight', inFlightText, numbers, (pool) => {
    let sum = 0;
    for (const endpoint of pool.endpoints) sum += numbers.inFlight(endpoint.index);
    return sum;
  });
}

/** A counter of the workers, summed over them. */
function ofWorkers(numbers: PickerNumbers): (name: CounterName) => ReadCounter {
  return (name) => {
    const text = help[name] ?? `${name.replaceAll('_', ' ')}, since the start.`;
    const sum = () => numbers.counters.reduce((total, counters) => total + counters.get(name), 0);
    return [`${name}_total`, text, sum];
  };
}

function gauge(registry: Registry, name: string, text: string, value: () => number): void {
  const metric = new Gauge({
    name,
    help: text,
    registers: [registry],
    collect() {
      metric.set(value());
    },
  });
}

function busyWorkers(registry: Registry, numbers: PickerNumbers): void {
  const metric = new Gauge({
    name: 'leadsman_picker_worker_busy_ratio',
    help: 'Share of the time since the last scrape in which a worker was busy.',
    labelNames: ['worker'],
    registers: [registry],
    collect() {
      // A worker that is down has no share.
      metric.reset();
      for (const [worker, ratio] of numbers.workers.busyRatios(numbers.nowMs())) {
        metric.set({ worker }, ratio);
      }
    },
  });
}

function perPool(
  registry: Registry,
  name: string,
  text: string,
  numbers: PickerNumbers,
  value: (pool: PoolStatus) => number,
): void {
  const metric = new Gauge({
    name,
    help: text,
    labelNames: ['pool'],
    registers: [registry],
    collect() {
      // Pools that left must leave here too.
      metric.reset();
      for (const pool of numbers.pools()) metric.set({ pool: pool.pool }, value(pool));
    },
  });
}
