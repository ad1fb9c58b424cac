export * from './error.ts';
export type { IngestCounters } from './ingest/counters.ts';
export { FeedWatch, syncAfterMsDefault } from './ingest/feed-watch.ts';
export { expireAfterMsDefault } from './ingest/fleet.ts';
export { FrameIngest, type FrameIngestOptions } from './ingest/frame-ingest.ts';
export { tickMs } from './ingest/stall-guard.ts';
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
