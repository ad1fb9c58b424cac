/** The policies that are compared, by name. */
import type { SchedulingConfig } from '@leadsman/scheduling/scheduling-config';
import { LeadsmanPolicy } from './leadsman-policy.ts';
import { OraclePolicy } from './oracle.ts';
import type { Policy, PolicyOptions } from './policy.ts';
import { PollingPeerPolicy } from './polling-peer.ts';
import { SessionAffinityPolicy } from './session-affinity.ts';
import { LeastRequestPolicy, RandomPolicy, RoundRobinPolicy } from './simple-policies.ts';
import { TokenLoadPeerPolicy } from './token-load-peer.ts';

export const policyNames = [
  'random',
  'round-robin',
  'least-request',
  'polling',
  'polling+in-flight',
  'session-affinity',
  'affinity+token-load',
  'oracle',
  'expected-work',
] as const;
export type PolicyName = (typeof policyNames)[number];

export function createPolicy(
  name: PolicyName,
  options: PolicyOptions,
  config: SchedulingConfig,
): Policy {
  switch (name) {
    case 'random':
      return new RandomPolicy(options);
    case 'round-robin':
      return new RoundRobinPolicy(options);
    case 'least-request':
      return new LeastRequestPolicy(options);
    case 'polling':
      return new PollingPeerPolicy(options, false);
    case 'polling+in-flight':
      return new PollingPeerPolicy(options, true);
    case 'session-affinity':
      return new SessionAffinityPolicy(options);
    case 'affinity+token-load':
      return new TokenLoadPeerPolicy(options);
    case 'oracle':
      return new OraclePolicy(options);
    case 'expected-work':
      return new LeadsmanPolicy({ ...options, config });
  }
}
