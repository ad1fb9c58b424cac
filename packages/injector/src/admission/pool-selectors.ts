/**
 * The selectors of all InferencePools, so that a pod which a pool will select gets its sidecar
 * without a label of its own. Only namespaces that opted in are asked about: the webhook's
 * namespace selector sees to that.
 */
import { type KubeClient, matchesLabels, Reflector } from '@leadsman/kube';
import type { PoolLookup } from './admission-review.ts';

interface PoolSelector {
  readonly namespace: string;
  readonly selector: readonly (readonly [string, string])[];
  readonly ports: readonly number[];
}

const inferencePools = {
  group: 'inference.networking.k8s.io',
  version: 'v1',
  plural: 'inferencepools',
};

export class PoolSelectors {
  readonly reflector: Reflector<PoolSelector>;

  constructor(options: { client: KubeClient; random: () => number }) {
    this.reflector = new Reflector<PoolSelector>({
      client: options.client,
      resource: inferencePools,
      random: options.random,
      listener: { upserted: () => {}, removed: () => {} },
      project: (object) => {
        const { spec } = object as typeof object & {
          spec: {
            selector: { matchLabels: Record<string, string> };
            targetPorts: { number: number }[];
          };
        };
        return {
          namespace: object.metadata.namespace ?? '',
          selector: Object.entries(spec.selector.matchLabels),
          ports: spec.targetPorts.map((port) => port.number),
        };
      },
    });
  }

  /** The ports of the first pool that selects such a pod. Few pools: a scan is cheaper than an index. */
  readonly lookup: PoolLookup = (namespace, labels) => {
    for (const pool of this.reflector.items.values()) {
      if (pool.namespace === namespace && matchesLabels(labels, pool.selector)) return pool.ports;
    }
    return undefined;
  };
}
