/** What a picker's main thread and its collector thread tell each other. All of it is cloneable. */
import type { LogLevel } from '@leadsman/service';
import type { CollectorSnapshot } from '../core/collector-core.ts';
import type { FeedConfig } from '../feed/feed-config.ts';

export interface CollectorThreadData {
  view: SharedArrayBuffer;
  feed: FeedConfig;
  expireAfterMs: number;
  logLevel: LogLevel;
}

export type CollectorThreadMessage =
  | { type: 'listening'; address: string }
  | { type: 'snapshot'; snapshot: CollectorSnapshot };
