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

export interface PoolConfig {
  choice: ChoiceConfig;
  filters: readonly FilterConfig[];
  saturation: { queueRequests: number; kvCacheUsageRatio: number };
  staleAfterMs: number;
  retryAfterS: number;
  fallbacks: number;
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
