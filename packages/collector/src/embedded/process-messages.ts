/** What a picker's main process and its collector tell each other. All of it can be cloned. */
import type { LogLevel } from '@leadsman/service';
import type { MemoryRegion } from '@leadsman/service/processes/shared-memory';
import type { CollectorSnapshot } from '../core/collector-core.ts';
import type { FeedConfig } from '../feed/feed-config.ts';

export interface CollectorStart {
  /** Of the shared memory. */
  view: MemoryRegion;
  feed: FeedConfig;
  expireAfterMs: number;
  logLevel: LogLevel;
}

export interface ToCollector {
  type: 'stop';
}

export type FromCollector =
  | { type: 'listening'; address: string }
  | { type: 'snapshot'; snapshot: CollectorSnapshot };
