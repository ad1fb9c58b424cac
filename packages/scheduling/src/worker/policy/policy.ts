/**
 * How one pool is picked for, ready to use: the parts that a configuration names, built for one
 * pool in one worker. Parts may keep scratch arrays and turns, so no two pools share any.
 */

import type { FlowControlConfig } from '../../scheduling-config.ts';
import type { SaturationLimits } from '../candidates/saturation.ts';
import type { Filter, Strategy } from '../parts/part.ts';

export interface NamedFilter {
  name: string;
  filter: Filter;
  /** When nothing passes: undo the filter (a preference), or refuse the request. */
  isPreference: boolean;
}

export interface PoolPolicy {
  /** Name of the strategy that is used unless a request chooses another. */
  strategyName: string;
  strategy: Strategy;
  /** Strategies that the routing header may name. */
  selectable: ReadonlyMap<string, Strategy>;
  filters: readonly NamedFilter[];
  staleAfterMs: number;
  saturation: SaturationLimits;
  /** `retry-after` of refused requests, seconds. */
  retryAfterS: number;
  /** Further endpoints named after the picked one, best first; 0 for most gateways. */
  fallbacks: number;
  priority: PriorityRule;
  /** Whether prompts are entered into the prefix index. */
  recordsPrompts: boolean;
  /** `undefined`: requests are picked for as they come. */
  flowControl: FlowControlConfig | undefined;
}

/** Where a request's priority comes from; below 0 it may be refused under load. */
export interface PriorityRule {
  /** Header that names an objective, in lower case. */
  header: string;
  /** Priorities by header value; those of Kubernetes (`InferenceObjective`) win. */
  values: Readonly<Record<string, number>>;
}

/** The header by which the Go pickers learn the objective. */
export const objectiveHeaderDefault = 'x-llm-d-inference-objective';

/** Its former name: read where the newer one is missing and no other is configured. */
export const objectiveHeaderBefore = 'x-gateway-inference-objective';

/** The header by which a request may choose a strategy, where the admin allows it. */
export const routingHeader = 'routing-strategy';
