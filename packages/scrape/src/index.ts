export type { Way, WayStatus } from './by-name/by-name.ts';
export * from './defaults.ts';
export type { NearEngine } from './engine/near.ts';
export type { EngineProfile, Selector, Signal, Source, VersionPage } from './engine/profile.ts';

export type { PageOutcome } from './engine/reading.ts';
export { finding, type Reading } from './engine/reading.ts';
export type { ExplainedNumber, Explanation } from './explain.ts';
export { type Grid, gridOfNode } from './grid.ts';
export { type FetchSettings, PageFetcher } from './http/page-fetcher.ts';
export { isPage, type Page, type PageFailure, type PageResult } from './http/page-result.ts';
export { type VersionOutcome, VersionReader } from './http/version-reader.ts';
export { Pace, type PaceSettings, type ScrapeOutcome } from './pace.ts';
export { PageReader } from './page-reader.ts';
export { type PageCounters, PageSource } from './page-source.ts';
export type { SuspicionSettings } from './suspicion.ts';
export {
  Target,
  type TargetCounters,
  type TargetDeps,
  type TargetOptions,
} from './target.ts';
export type { Clock, TargetIdentity } from './target-identity.ts';
