export type { CollectorSnapshot } from './core/collector-core.ts';
export { registerCollectorMetrics } from './core/metrics.ts';
export {
  type EmbeddedCollector,
  type EmbeddedCollectorOptions,
  startEmbeddedCollector,
} from './embedded/start-embedded-collector.ts';
export { askerCheck } from './feed/caller-check.ts';
export type { FeedConfig } from './feed/feed-config.ts';
export type { IngestCounters } from './ingest/counters.ts';

export { FrameIngest, type FrameIngestOptions } from './ingest/frame-ingest.ts';
export { type CollectorConfig, collectorConfigShape } from './service/config.ts';
