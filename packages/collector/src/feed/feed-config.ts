/** Where a collector's frames come from. Plain data, so that it can be given to a thread. */
import type { CollectorAccess, NatsOptions } from '@leadsman/link';
import type { TlsFiles } from '@leadsman/service';

/** Which callers a direct listener believes: any of what is set. */
export interface TokenConfig {
  /** Who knows the token in this file. */
  file: string;
  /** Tokens that the API server knows as made for this audience; empty: it is not asked. */
  audience: string;
  kubeconfigFile: string;
  /** Where a pod learns of its API server. */
  env: Readonly<Record<string, string | undefined>>;
}

export interface FeedConfig {
  /** Shown to NATS servers and to upstream collectors. */
  name: string;
  nats?: {
    /** Without functions (clock, logger): those are added by the thread that connects. */
    options: NatsOptions;
    subjectPrefix: string;
  };
  /** Listen for the streams of sidecars and agents, and of watchers if the collector serves any. */
  direct?: {
    host: string;
    /** 0: any. */
    port: number;
    tls?: TlsFiles;
    tokens?: TokenConfig;
  };
  /** Read the view of other collectors; replicas of one another. */
  remote?: {
    /** `grpc://host:port`. */
    targets: readonly string[];
    tls?: CollectorAccess;
    /** Wanted distance of two frames, ms; 0 leaves it to the collector. */
    intervalMs: number;
  };
}
