/** What tests, benchmarks and tools use of the picker; the process itself starts at `main.ts`. */
export * from './ext-proc/body-mode.ts';
export * from './ext-proc/counters.ts';
export * from './ext-proc/server.ts';
export * from './ext-proc/transport/http2-server.ts';
export * from './health/health-server.ts';
export * from './health/health-state.ts';
export * from './in-flight/table.ts';
export * from './scheduling/scheduler.ts';
export * from './tls/identity.ts';
