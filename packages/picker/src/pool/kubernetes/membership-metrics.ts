/** Metrics of the membership. Read when scraped, so a pool that went leaves no series behind. */
import { registerReadCounters } from '@leadsman/service';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { KubernetesMembership, WatchState } from './kubernetes-membership.ts';
import { podStates } from './pod-facts.ts';

/** Registers the membership's metrics. */
export function registerMembershipMetrics(
  registry: Registry,
  membership: KubernetesMembership,
): void {
  new Gauge({
    name: 'leadsman_picker_pods_without_endpoint',
    help: 'Pods that a pool selects and that cannot be picked, by reason.',
    labelNames: ['pool', 'reason'],
    registers: [registry],
    collect() {
      this.reset();
      for (const pool of membership.servedPools()) {
        const counts = pool.states();
        for (const reason of podStates) {
          if (reason !== 'ready') this.set({ pool: pool.key, reason }, counts[reason]);
        }
      }
    },
  });
  new Gauge({
    name: 'leadsman_picker_foreign_pools',
    help: 'Pools that were seen and are left to another picker.',
    registers: [registry],
    collect() {
      this.set(membership.foreignPools);
    },
  });
  registerReadCounters(registry, 'picker', [
    [
      'pool_changes_failed_total',
      'Changes of a pool that could not be taken, and were tried again.',
      () => membership.failedChanges,
    ],
  ]);
  registerWatchMetrics(registry, membership);
}

function registerWatchMetrics(registry: Registry, membership: KubernetesMembership): void {
  const registers = [registry];
  const labelNames = ['resource', 'namespace'];
  const gauge = (name: string, help: string, read: (watch: WatchState) => number) => {
    new Gauge({
      name: `leadsman_picker_watch_${name}`,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const watch of membership.watches()) this.set(labelsOf(watch), read(watch));
      },
    });
  };
  const counter = (name: string, help: string, read: (watch: WatchState) => number) => {
    new Counter({
      name: `leadsman_picker_watch_${name}`,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const watch of membership.watches()) this.inc(labelsOf(watch), read(watch));
      },
    });
  };
  gauge('open', 'Whether the watch is open.', (watch) => (watch.reason === undefined ? 1 : 0));
  gauge('objects', 'Objects kept of the collection.', (watch) => watch.objects);
  counter('events_total', 'Events received.', (watch) => watch.events);
  counter('lists_total', 'Complete lists begun.', (watch) => watch.lists);
  counter('failures_total', 'Requests that failed.', (watch) => watch.failures);
  counter('rejected_total', 'Objects that could not be read.', (watch) => watch.rejected);
  counter('overflow_total', 'Objects beyond the bound, not kept.', (watch) => watch.overflow);
}

function labelsOf({ resource, namespace }: WatchState): { resource: string; namespace: string } {
  return { resource, namespace };
}
