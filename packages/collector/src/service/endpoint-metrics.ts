/**
 * Gauges of every endpoint on `/metrics`, for clusters that want them in Prometheus. Off unless
 * asked for: the number of series grows with the fleet.
 *
 * The series are made from the view at each scrape and belong to that scrape only, so those of an
 * endpoint are gone with it, and nothing accumulates under churn. Labels are what Kubernetes says
 * of the pod; none comes from requests.
 *
 * `uid` and `port` identify a slot of the view, so a series is always of one incarnation: a pod of
 * a StatefulSet comes back under its old name while the former one may still await its expiry.
 */

import { slotState } from '@leadsman/view/endpoint-json';
import { ViewReader } from '@leadsman/view/reader';
import { metric } from '@leadsman/wire';
import { Gauge, type Registry } from 'prom-client';

const labelNames = ['namespace', 'pod', 'uid', 'port'] as const;
type Labels = Record<(typeof labelNames)[number], string | number>;

const shown: readonly [number, string, string][] = [
  [metric.runningRequests, 'running_requests', 'Requests the engine runs.'],
  [metric.waitingRequests, 'waiting_requests', 'Requests that wait in the engine.'],
  [metric.kvCacheUsageRatio, 'kv_cache_usage_ratio', 'Used share of the KV cache, 0 to 1.'],
  [metric.kvCacheCapacityTokens, 'kv_cache_capacity_tokens', 'Size of the KV cache.'],
];

export interface EndpointMetricsOptions {
  view: ArrayBufferLike;
  staleAfterMs: number;
  nowMs: () => number;
}

/** Registers `leadsman_endpoint_…`. An unknown number has no sample. */
export function registerEndpointMetrics(
  registry: Registry,
  { view, staleAfterMs, nowMs }: EndpointMetricsOptions,
): void {
  const reader = new ViewReader(view);
  const each = (visit: (slot: number, labels: Labels) => void) => {
    reader.refresh();
    for (let slot = 0; slot < reader.slots; slot++) {
      if (reader.isUsed(slot)) visit(slot, labelsOf(reader, slot));
    }
  };
  for (const [index, name, help] of shown) {
    new Gauge({
      name: `leadsman_endpoint_${name}`,
      help,
      labelNames: [...labelNames],
      registers: [registry],
      collect() {
        this.reset();
        each((slot, labels) => {
          const value = reader.numberOf(slot, index);
          if (Number.isFinite(value)) this.set(labels, value);
        });
      },
    });
  }
  new Gauge({
    name: 'leadsman_endpoint_age_seconds',
    help: 'Age of the numbers.',
    labelNames: [...labelNames],
    registers: [registry],
    collect() {
      this.reset();
      each((slot, labels) => this.set(labels, (nowMs() - reader.measuredAtMs(slot)) / 1_000));
    },
  });
  new Gauge({
    name: 'leadsman_endpoint_state',
    help: '1 for the state of the endpoint: fresh, stale, unknown, suspect or sleeping.',
    labelNames: [...labelNames, 'state'],
    registers: [registry],
    collect() {
      this.reset();
      each((slot, labels) => {
        this.set({ ...labels, state: slotState(reader, slot, nowMs(), staleAfterMs) }, 1);
      });
    },
  });
}

function labelsOf(reader: ViewReader, slot: number): Labels {
  const attributes = reader.attributes(slot);
  const uid = reader.podKey(slot);
  return {
    namespace: attributes?.namespace ?? '',
    pod: attributes?.podName || uid,
    uid,
    port: reader.port(slot),
  };
}
