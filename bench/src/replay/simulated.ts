/** The same requests in the simulation, with the scheduler of the strategy that was replayed. */
import type { SchedulingConfig } from '@leadsman/scheduling/scheduling-config';
import { createPolicy } from '../routing/policies.ts';
import { blockTokens, type RoutingRequest } from '../routing/request.ts';
import { simulate } from '../routing/simulate.ts';

export function simulatedHitRatio(
  config: SchedulingConfig,
  pods: number,
  kvCapacityTokens: number,
  requests: readonly RoutingRequest[],
): number {
  const options = { pods, replicas: 1, kvCapacityTokens, blockTokens, seed: 1 };
  const policy = createPolicy('expected-work', options, config);
  // Engines behind HTTP do not know what an answer's blocks will be called.
  const asServed = requests.map((request) => ({ ...request, engineBlocks: request.blocks }));
  return simulate({ pods, kvCapacityTokens, blockTokens }, asServed, policy, 0, 1).prefixHitRatio;
}
