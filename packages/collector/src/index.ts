export type { CollectorSnapshot } from './collector-core.ts';
export {
  type EmbeddedCollector,
  type EmbeddedCollectorOptions,
  startEmbeddedCollector,
} from './embedded/start-embedded-collector.ts';
export * from './error.ts';
export type { FeedConfig } from './feed/feed-config.ts';
export type { IngestCounters } from './ingest/counters.ts';
export { FeedWatch, syncAfterMsDefault } from './ingest/feed-watch.ts';
export { expireAfterMsDefault } from './ingest/fleet.ts';
export { FrameIngest, type FrameIngestOptions } from './ingest/frame-ingest.ts';
export { registerCollectorMetrics } from './metrics.ts';
export { type CollectorConfig, collectorConfigShape } from './service/config.ts';
export { type EndpointJson, endpointJson } from './view/endpoint-json.ts';
export * from './view/endpoint-state.ts';
export {
  createView,
  type FeedState,
  feedState,
  slotsLimit,
  viewBytes,
} from './view/layout.ts';
export { ViewReader } from './view/view-reader.ts';
export { ViewWriter } from './view/view-writer.ts';
