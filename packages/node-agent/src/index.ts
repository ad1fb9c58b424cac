/** For tests and benchmarks: the process as a function, and its core. */
export { Batcher, type BatcherOptions, type BatchSink } from './batch/batcher.ts';
export type { BatchBounds } from './batch/bounds.ts';
export { FlushLoop } from './batch/flush-loop.ts';
export { type NodeAgentConfig, nodeAgentConfigShape } from './config.ts';
export type { NodeAgent } from './start.ts';
