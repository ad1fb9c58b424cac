export * from './error.ts';
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
