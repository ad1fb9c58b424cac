/**
 * The pods of one namespace and the pools among them that this picker serves.
 *
 * One watch per namespace, without a label selector: pools come, go and change their selectors,
 * and a watch per selector would have to be made anew each time. What is kept of a pod that no
 * pool selects is its projection only.
 */
import {
  type KubeClient,
  type PoolSpec,
  poolKey,
  Reflector,
  type ReflectorListener,
  type ReflectorSettings,
} from '@leadsman/kube';
import { type PodFacts, pods, readPod } from './pod-facts.ts';
import { PoolPods } from './pool-pods.ts';

export interface NamespacePodsOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly random: () => number;
  readonly settings: Partial<ReflectorSettings>;
  /** A pool's members may have changed. Not called before the namespace has been listed. */
  readonly changed: (pool: PoolPods) => void;
  readonly state: NonNullable<ReflectorListener<PodFacts>['state']>;
}

export class NamespacePods {
  readonly reflector: Reflector<PodFacts>;
  readonly pools = new Map<string, PoolPods>();
  readonly #changed: (pool: PoolPods) => void;

  constructor(options: NamespacePodsOptions) {
    this.#changed = options.changed;
    this.reflector = new Reflector<PodFacts>({
      client: options.client,
      resource: pods,
      namespace: options.namespace,
      project: readPod,
      random: options.random,
      settings: options.settings,
      listener: {
        upserted: (_, facts) => this.#upserted(facts),
        removed: (uid) => this.#removed(uid),
        listed: () => this.#listed(),
        state: options.state,
      },
    });
    this.reflector.start();
  }

  /** Adds a pool, or replaces one whose specification changed. */
  setPool(spec: PoolSpec): void {
    const pool = new PoolPods(spec);
    for (const facts of this.reflector.items.values()) pool.put(facts);
    this.pools.set(poolKey(spec), pool);
    if (this.reflector.listed) this.#changed(pool);
  }

  stop(): Promise<void> {
    return this.reflector.stop();
  }

  #upserted(facts: PodFacts): void {
    for (const pool of this.pools.values()) {
      if (pool.put(facts) && this.reflector.listed) this.#changed(pool);
    }
  }

  #removed(uid: string): void {
    for (const pool of this.pools.values()) if (pool.remove(uid)) this.#changed(pool);
  }

  /** After a list every pool is told, so that an empty one is known to be empty. */
  #listed(): void {
    for (const pool of this.pools.values()) this.#changed(pool);
  }
}
