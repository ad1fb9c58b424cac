/**
 * What the strategy file says, checked and with every default filled in. Plain data: it is sent
 * to the workers as it is.
 */

/** Names one part, and what it is given. */
export interface PartConfig {
  type: string;
  parameters: Readonly<Record<string, unknown>>;
}

export interface FilterConfig extends PartConfig {
  /** What happens when nothing passes: undo the filter, or refuse the request. */
  onEmpty: 'keep' | 'refuse';
}

export interface ScorerConfig extends PartConfig {
  weight: number;
}

/** Either a named strategy, or scorers and a pick. */
export type ChoiceConfig =
  | { strategy: PartConfig }
  | { scorers: readonly ScorerConfig[]; pick: PartConfig };

/** How requests of one priority wait. */
export interface FlowBandConfig {
  ordering: 'fcfs' | 'edf' | 'shortest';
  ageingTokensPerMs: number;
  /** Longest wait, ms; 0: none. */
  ttlMs: number;
  requestsMax: number;
  bytesMax: number;
  /** Share of the pool's tokens even while higher bands wait, 0 to 1. */
  floorShare: number;
}

/** Bounds are of each worker process. */
export interface FlowControlConfig {
  /** Header that names a request's flow, in lower case. */
  header: string;
  requestsMax: number;
  bytesMax: number;
  /** Longest wait while the pool has no endpoint, ms; 0: none. */
  noEndpointTtlMs: number;
  /** What a generated token is charged, prompt tokens. */
  outputTokenWeight: number;
  /** Weights of flows by id; 1 unless named. */
  weights: Readonly<Record<string, number>>;
  gate: { batchRequests: number; kvCacheUsageRatio: number };
  /** For priorities that are not named: from 0 on, and below. */
  band: FlowBandConfig;
  sheddableBand: FlowBandConfig;
  bands: readonly (FlowBandConfig & { priority: number })[];
}

export interface PoolConfig {
  choice: ChoiceConfig;
  filters: readonly FilterConfig[];
  saturation: { queueRequests: number; kvCacheUsageRatio: number };
  staleAfterMs: number;
  retryAfterS: number;
  fallbacks: number;
  /** `undefined`: requests are picked for as they come. */
  flowControl: FlowControlConfig | undefined;
}

export interface PrefixIndexConfig {
  tokensPerEndpoint: number;
  distinctBlocks: number;
}

export interface ReplicasConfig {
  shareIntervalMs: number;
  keyframeIntervalMs: number;
  delayMsMax: number;
  expireAfterMs: number;
  historyBytesPerSecond: number;
}

/** A module that brings parts of its own. */
export interface ExtensionConfig {
  /** Absolute path of the module. */
  module: string;
  /** SHA-256 of its text: a changed module is loaded anew. */
  digest: string;
}

export interface SchedulingConfig {
  /** For pools that are not named. */
  default: PoolConfig;
  pools: Readonly<Record<string, PoolConfig>>;
  extensions: readonly ExtensionConfig[];
  /** Strategies that requests may choose by header; empty: the header is ignored. */
  routingHeaderAllow: readonly string[];
  priority: { header: string; values: Readonly<Record<string, number>> };
  prefixIndex: PrefixIndexConfig;
  replicas: ReplicasConfig;
}
