/**
 * The selectors of all InferencePools, so that a pod which a pool will select gets its sidecar
 * without a label of its own. Only namespaces that opted in are asked about: the webhook's
 * namespace selector sees to that.
 */
import {
  inferencePools,
  type KubeClient,
  matchesLabels,
  type PoolSpec,
  Reflector,
  readPool,
} from '@leadsman/kube';
import type { PoolLookup } from './admission-review.ts';

export class PoolSelectors {
  readonly reflector: Reflector<PoolSpec>;

  constructor(options: { client: KubeClient; random: () => number }) {
    this.reflector = new Reflector<PoolSpec>({
      client: options.client,
      resource: inferencePools,
      random: options.random,
      listener: { upserted: () => {}, removed: () => {} },
      project: readPool,
    });
  }

  /** The ports of the first pool that selects such a pod. Few pools: a scan is cheaper than an index. */
  readonly lookup: PoolLookup = (namespace, labels) => {
    for (const pool of this.reflector.items.values()) {
      const selects = pool.selector.length > 0 && matchesLabels(labels, pool.selector);
      if (pool.namespace === namespace && selects) return pool.ports;
    }
    return undefined;
  };
}
