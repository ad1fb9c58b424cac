/**
 * Pools and their members from the Kubernetes API: InferencePools of the given namespaces, the
 * pods of every namespace that has one of ours, and objectives where their CRD exists.
 *
 * Place: main thread of the picker, behind {@link MembershipSource}. Changes are gathered for
 * `flushMs` and told with the pool's whole list. Nothing is told of a pool before its namespace
 * has been listed, and while the API server is away the last lists stay as they are.
 */
import {
  inferencePools,
  type KubeClient,
  type KubeErrorCode,
  type PoolSpec,
  poolKey,
  Reflector,
  type ReflectorSettings,
  readPool,
} from '@leadsman/kube';
import type { Logger } from '@leadsman/service';
import type { MembershipListener, MembershipSource } from '../membership.ts';
import { NamespacePods } from './namespace-pods.ts';
import { inferenceObjectives, type Objective, readObjective } from './objective.ts';
import type { PodState } from './pod-facts.ts';
import { type PoolClaim, whyForeign } from './pool-claim.ts';
import type { PoolPods } from './pool-pods.ts';

export interface KubernetesMembershipOptions {
  readonly client: KubeClient;
  /** Where pools are looked for; the empty string alone means all namespaces. */
  readonly namespaces: readonly string[];
  readonly claim: PoolClaim;
  readonly logger: Logger;
  readonly random: () => number;
  /** How long changes are gathered, ms. Together with the watch it must stay below 100. */
  readonly flushMs?: number;
  readonly reflectorSettings?: Partial<ReflectorSettings>;
}

/** One watch, for people and metrics. */
export interface WatchState {
  readonly resource: string;
  readonly namespace: string;
  readonly reason: KubeErrorCode | undefined;
  readonly message: string;
  readonly objects: number;
  readonly lists: number;
  readonly watches: number;
  readonly events: number;
  readonly failures: number;
  readonly rejected: number;
  readonly overflow: number;
}

/** What `/v1/pools` shows beside the endpoints themselves. */
export interface MembershipState {
  readonly watches: readonly WatchState[];
  /** Pools that were seen and are another picker's, with the reason. */
  readonly foreign: Readonly<Record<string, string>>;
  readonly pools: Readonly<
    Record<
      string,
      { readonly pods: Readonly<Record<PodState, number>>; readonly reasons: readonly string[] }
    >
  >;
}

const flushMsDefault = 10;

/** Until what could not be told is tried again, ms. */
const retryMs = 250;

export class KubernetesMembership implements MembershipSource {
  /** Times that a change could not be told. */
  failedChanges = 0;
  readonly #options: KubernetesMembershipOptions;
  readonly #poolReflectors = new Map<string, Reflector<PoolSpec>>();
  readonly #objectiveReflectors: { name: string; reflector: Reflector<Objective> }[] = [];
  readonly #namespaces = new Map<string, NamespacePods>();
  readonly #foreign = new Map<string, string>();
  /** Whether the pool had endpoints when last told, to log each change of that once. */
  readonly #hadEndpoints = new Map<string, boolean>();
  /** Pools whose change is to be told, and those whose end is. */
  readonly #dirty = new Map<string, PoolPods>();
  readonly #leaving = new Set<string>();
  readonly #stopping: Promise<void>[] = [];
  #listener: MembershipListener | undefined;
  #flushing: NodeJS.Timeout | undefined;

  constructor(options: KubernetesMembershipOptions) {
    this.#options = options;
  }

  start(listener: MembershipListener): void {
    this.#listener = listener;
    for (const namespace of this.#options.namespaces) {
      const reflector = new Reflector<PoolSpec>({
        ...this.#common(inferencePools.plural, namespace),
        resource: inferencePools,
        project: readPool,
        listener: {
          upserted: (_, spec) => this.#poolSeen(spec),
          removed: (_, spec) => this.#poolGone(spec),
          state: this.#stateLogger(inferencePools.plural, namespace),
        },
      });
      this.#poolReflectors.set(namespace, reflector);
      reflector.start();
      for (const resource of inferenceObjectives) this.#watchObjectives(resource, namespace);
    }
  }

  notSynced(): string | undefined {
    for (const [namespace, reflector] of this.#poolReflectors) {
      if (!reflector.synced) return missing('InferencePools', namespace, reflector);
    }
    for (const [namespace, { reflector }] of this.#namespaces) {
      if (!reflector.synced) return missing('pods', namespace, reflector);
    }
    return undefined;
  }

  async stop(): Promise<void> {
    clearTimeout(this.#flushing);
    await Promise.all([
      ...[...this.#poolReflectors.values()].map((reflector) => reflector.stop()),
      ...this.#objectiveReflectors.map(({ reflector }) => reflector.stop()),
      ...[...this.#namespaces.values()].map((namespace) => namespace.stop()),
      ...this.#stopping,
    ]);
    clearTimeout(this.#flushing);
    this.#options.client.access.close();
  }

  /** Everything an operator asks when endpoints are missing. */
  state(): MembershipState {
    const pools: Record<string, MembershipState['pools'][string]> = {};
    for (const pool of this.servedPools()) {
      pools[pool.key] = { pods: pool.states(), reasons: pool.reasons() };
    }
    return { watches: this.watches(), foreign: Object.fromEntries(this.#foreign), pools };
  }

  /** Pools seen that are another picker's. */
  get foreignPools(): number {
    return this.#foreign.size;
  }

  /** The pools of this picker. */
  *servedPools(): Generator<PoolPods> {
    for (const { pools } of this.#namespaces.values()) yield* pools.values();
  }

  /** Every watch that is kept up. */
  watches(): WatchState[] {
    const watches: WatchState[] = [];
    const add = (resource: string, namespace: string, reflector: Reflector<unknown>) => {
      const { reason, message, items, counts } = reflector;
      watches.push({ resource, namespace, reason, message, objects: items.size, ...counts });
    };
    for (const [namespace, reflector] of this.#poolReflectors) {
      add(inferencePools.plural, namespace, reflector);
    }
    for (const [namespace, { reflector }] of this.#namespaces) add('pods', namespace, reflector);
    for (const { name, reflector } of this.#objectiveReflectors) {
      add('inferenceobjectives', name, reflector);
    }
    return watches;
  }

  #poolSeen(spec: PoolSpec): void {
    const key = poolKey(spec);
    const foreign = whyForeign(spec, this.#options.claim);
    if (foreign !== undefined) {
      this.#release(spec);
      if (this.#foreign.get(key) !== foreign) {
        this.#options.logger.info({ pool: key, reason: foreign }, 'pool is left alone');
      }
      this.#foreign.set(key, foreign);
      return;
    }
    this.#foreign.delete(key);
    this.#podsOf(spec.namespace).setPool(spec);
  }

  #poolGone(spec: PoolSpec): void {
    this.#foreign.delete(poolKey(spec));
    // Made again under its name, the pool may be known by its new UID already.
    const served = this.#namespaces.get(spec.namespace)?.pools.get(poolKey(spec));
    if (served === undefined || served.spec.uid === spec.uid) this.#release(spec);
  }

  /** Stops serving a pool, and watching its namespace when it was the last one there. */
  #release(spec: PoolSpec): void {
    const key = poolKey(spec);
    const namespace = this.#namespaces.get(spec.namespace);
    if (namespace === undefined || !namespace.pools.delete(key)) return;
    this.#dirty.delete(key);
    this.#hadEndpoints.delete(key);
    if (namespace.pools.size === 0) {
      this.#namespaces.delete(spec.namespace);
      this.#stopping.push(namespace.stop());
    }
    this.#options.logger.info({ pool: key }, 'pool is no longer served');
    this.#leaving.add(key);
    this.#tell(key, () => this.#tellRemoved(key));
    if (this.#leaving.size > 0) this.#flushIn(retryMs);
  }

  #podsOf(namespace: string): NamespacePods {
    const known = this.#namespaces.get(namespace);
    if (known !== undefined) return known;
    const made = new NamespacePods({
      ...this.#common('pods', namespace),
      namespace,
      changed: (pool) => this.#markDirty(pool),
      state: this.#stateLogger('pods', namespace),
    });
    this.#namespaces.set(namespace, made);
    return made;
  }

  #watchObjectives(resource: (typeof inferenceObjectives)[number], namespace: string): void {
    const changed = (_: string, objective: Objective) => this.#objectiveChanged(objective);
    const reflector = new Reflector<Objective>({
      ...this.#common(resource.plural, namespace),
      resource,
      project: readObjective,
      listener: { upserted: changed, removed: changed },
    });
    this.#objectiveReflectors.push({ name: `${namespace} (${resource.group})`, reflector });
    reflector.start();
  }

  #objectiveChanged(objective: Objective): void {
    for (const { pools, reflector } of this.#namespaces.values()) {
      const pool = pools.get(objective.pool);
      if (pool !== undefined && reflector.listed) this.#markDirty(pool);
    }
  }

  #markDirty(pool: PoolPods): void {
    this.#dirty.set(pool.key, pool);
    this.#leaving.delete(pool.key);
    this.#flushIn(this.#options.flushMs ?? flushMsDefault);
  }

  #flushIn(ms: number): void {
    this.#flushing ??= setTimeout(() => this.#flush(), ms);
  }

  /** Tells what changed. What could not be told stays to be told, and is tried again. */
  #flush(): void {
    this.#flushing = undefined;
    for (const key of this.#leaving) this.#tell(key, () => this.#tellRemoved(key));
    const objectives = this.#dirty.size === 0 ? {} : this.#objectives();
    for (const [key, pool] of this.#dirty) {
      this.#tell(key, () => {
        this.#tellChanged(pool, objectives[key] ?? {});
        this.#dirty.delete(key);
      });
    }
    if (this.#leaving.size + this.#dirty.size > 0) this.#flushIn(retryMs);
  }

  /** Does the work for one pool: its failure must not keep the others from being told. */
  #tell(pool: string, work: () => void): void {
    try {
      work();
    } catch (err) {
      this.failedChanges++;
      this.#options.logger.error({ err, pool }, 'change of a pool not taken; tried again');
    }
  }

  #tellChanged(pool: PoolPods, objectives: Record<string, number>): void {
    const members = pool.members();
    const reasons = pool.reasons();
    this.#logEndpoints(pool.key, members.length, reasons);
    this.#listener?.poolChanged({
      pool: pool.key,
      members,
      authorities: [`${pool.spec.service}.${pool.spec.namespace}`],
      reasons,
      objectives,
    });
  }

  #tellRemoved(key: string): void {
    this.#listener?.poolRemoved(key);
    this.#leaving.delete(key);
  }

  #objectives(): Record<string, Record<string, number>> {
    const byPool: Record<string, Record<string, number>> = {};
    for (const { reflector } of this.#objectiveReflectors) {
      for (const { pool, name, priority } of reflector.items.values()) {
        byPool[pool] ??= {};
        byPool[pool][name] = priority;
      }
    }
    return byPool;
  }

  #logEndpoints(pool: string, endpoints: number, reasons: readonly string[]): void {
    const has = endpoints > 0;
    if (this.#hadEndpoints.get(pool) === has) return;
    this.#hadEndpoints.set(pool, has);
    if (has) this.#options.logger.info({ pool, endpoints }, 'pool has endpoints');
    else this.#options.logger.warn({ pool, reasons }, 'pool has no endpoint');
  }

  #common(resource: string, namespace: string) {
    const { client, random, reflectorSettings = {} } = this.#options;
    this.#options.logger.debug({ resource, namespace }, 'watch begins');
    return { client, namespace, random, settings: reflectorSettings };
  }

  #stateLogger(resource: string, namespace: string) {
    return (reason: KubeErrorCode | undefined, message: string): void => {
      const facts = { resource, namespace: namespace || '(all)', reason, detail: message };
      if (reason === undefined) this.#options.logger.info(facts, 'watch is open');
      else this.#options.logger.warn(facts, 'watch is not open; what is known stays in use');
    };
  }
}

function missing(what: string, namespace: string, reflector: Reflector<unknown>): string {
  const where = namespace === '' ? 'all namespaces' : `namespace ${namespace}`;
  return `${what} of ${where} not read: ${reflector.reason ?? 'pending'}: ${reflector.message}`;
}
