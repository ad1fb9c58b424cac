export { type SidecarConfig, sidecarConfigShape } from './config/config.ts';
export type { ExporterOptions } from './exporter/exporter.ts';

export { type Sidecar, type SidecarDeps, startSidecar } from './start-sidecar.ts';
