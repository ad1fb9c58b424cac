/** What the membership tests share: a fake API server, a picker's membership, and what it told. */
import { KubeClient, kubeconfigAccess, type ReflectorSettings } from '@leadsman/kube';
import type { PoolMembers } from '@leadsman/scheduling/endpoint';
import { createLogger } from '@leadsman/service';
import { type FakeApiServer, waitUntil } from '@leadsman/testing';
import { KubernetesMembership } from './kubernetes-membership.ts';
import type { PoolClaim } from './pool-claim.ts';

export interface Told {
  readonly membership: KubernetesMembership;
  readonly pools: Map<string, PoolMembers>;
  /** Pools told of, in order; `-name` when removed. */
  readonly events: string[];
  /** `ip:port` of a pool's members, sorted; undefined when the pool was never told. */
  endpoints(pool: string): string[] | undefined;
}

/** Starts a membership against the fake; the caller stops it. */
export async function startMembership(
  api: FakeApiServer,
  options: {
    namespaces?: readonly string[];
    claim?: Partial<PoolClaim>;
    reflectorSettings?: Partial<ReflectorSettings>;
    /** Called before each thing told is taken; may throw. */
    beforeTake?: (event: string) => void;
  } = {},
): Promise<Told> {
  const membership = new KubernetesMembership({
    client: new KubeClient(await kubeconfigAccess({ text: api.kubeconfig })),
    namespaces: options.namespaces ?? ['default'],
    claim: {
      services: ['leadsman-picker'],
      inferenceClass: '',
      isDefaultClass: false,
      ...options.claim,
    },
    logger: createLogger({ name: 'test', level: 'silent' }),
    random: () => 0.5,
    reflectorSettings: { backoffFirstMs: 5, backoffMaxMs: 40, ...options.reflectorSettings },
  });
  const pools = new Map<string, PoolMembers>();
  const events: string[] = [];
  membership.start({
    poolChanged(members) {
      options.beforeTake?.(members.pool);
      pools.set(members.pool, members);
      events.push(members.pool);
    },
    poolRemoved(pool) {
      options.beforeTake?.(`-${pool}`);
      pools.delete(pool);
      events.push(`-${pool}`);
    },
  });
  const endpoints = (pool: string) =>
    pools
      .get(pool)
      ?.members.map((member) => `${member.address}:${member.port}`)
      .sort();
  return { membership, pools, events, endpoints };
}

/** Waits for a condition, which is its own description. */
export const until = (condition: () => boolean, deadlineMs = 8_000) =>
  waitUntil(condition, { what: String(condition), intervalMs: 5, deadlineMs });
