export { type SidecarConfig, sidecarConfigShape } from './config/config.ts';
export { Exporter, type ExporterOptions } from './exporter/exporter.ts';
export { FrameComposer } from './frame-composer.ts';
export { type Sidecar, type SidecarDeps, startSidecar } from './start-sidecar.ts';
