export * from './admin.ts';
export * from './common-config.ts';
export * from './config.ts';
export * from './lifecycle.ts';
export * from './log.ts';
export * from './monotonic.ts';
export * from './read-counters.ts';
export * from './stall-guard.ts';
