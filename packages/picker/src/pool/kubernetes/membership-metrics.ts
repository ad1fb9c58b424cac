/** Gauges of the membership. Read when scraped, so a pool that went leaves no series behind. */
import { Gauge, type Registry } from 'prom-client';
import type { KubernetesMembership, WatchState } from './kubernetes-membership.ts';
import { podStates } from './pod-facts.ts';

/** Registers the membership's gauges. */
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
  const watches = (name: string, help: string, read: (watch: WatchState) => number) => {
    new Gauge({
      name: `leadsman_picker_watch_${name}`,
      help,
      labelNames: ['resource', 'namespace'],
      registers: [registry],
      collect() {
        this.reset();
        for (const watch of membership.watches()) {
          this.set({ resource: watch.resource, namespace: watch.namespace }, read(watch));
        }
      },
    });
  };
  watches('open', 'Whether the watch is open.', (watch) => (watch.reason === undefined ? 1 : 0));
  watches('objects', 'Objects kept of the collection.', (watch) => watch.objects);
  watches('events_total', 'Events received.', (watch) => watch.events);
  watches('lists_total', 'Complete lists begun.', (watch) => watch.lists);
  watches('failures_total', 'Requests that failed.', (watch) => watch.failures);
  watches('rejected_total', 'Objects that could not be read.', (watch) => watch.rejected);
  watches('overflow_total', 'Objects beyond the bound, not kept.', (watch) => watch.overflow);
}
