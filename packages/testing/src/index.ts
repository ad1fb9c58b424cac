/** Everything the tests, the demo and the benchmarks share. Never part of an image. */

export * from './engine-model/engine-model.ts';
export * from './engine-model/gauges.ts';
export * from './engine-model/parameters.ts';
export type { EngineRequest } from './engine-model/sequence.ts';
export * from './engine-simulator/faults.ts';
export * from './engine-simulator/launch.ts';
export * from './engine-simulator/messages.ts';
export * from './engine-simulator/simulator.ts';
export * from './kubernetes/api-resource.ts';
export * from './kubernetes/fake-api-server.ts';
export * from './kubernetes/fault.ts';
export * from './kubernetes/objects.ts';
export * from './kubernetes/real-api-server.ts';
export * from './launchers/envoy.ts';
export * from './launchers/nats.ts';
export * from './launchers/required.ts';
export * from './launchers/tool-version.ts';
export * from './load/chat-client.ts';
export * from './load/quantile.ts';
export * from './load/traffic.ts';
export * from './process/child-process.ts';
export * from './process/wait-until.ts';
export * from './random.ts';
export * from './rig/gateway-bootstrap.ts';
export * from './rig/rig.ts';
export * from './rig/rig-pod.ts';
export * from './rig/service-process.ts';
