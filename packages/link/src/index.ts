export * from './agent/agent-sink.ts';
export {
  agentFramesPath,
  type FrameAnswer,
  frameContentType,
} from './agent/frame-stream.ts';
export {
  type FrameStreamServer,
  type FrameStreamServerOptions,
  serveFrameStreams,
} from './agent/frame-stream-server.ts';
export * from './frame-port.ts';
export type { Authorizer } from './grpc/bearer.ts';
export * from './grpc/feed-server.ts';
export {
  type WatchRequest,
  watchMethod,
} from './grpc/feed-service.ts';
export { registerPushMetrics } from './grpc/metrics.ts';
export type { PushCounters } from './grpc/push-counters.ts';
export type { PushBounds } from './grpc/push-peer.ts';
export { type GrpcSink, type GrpcSinkOptions, grpcSink } from './grpc/push-sink.ts';
export {
  type HostPort,
  type LookupAll,
  lookupAll,
  parseHostPort,
  type Replica,
  resolveHosts,
} from './grpc/resolve.ts';
export { ClientTls, type CollectorAccess } from './grpc/tls.ts';
export { createNatsCounters, type NatsCounters } from './nats/counters.ts';
export type { NatsCredentials } from './nats/credentials.ts';
export { natsSink, natsSource } from './nats/frames.ts';
export { connectNats, type NatsLink } from './nats/link.ts';
export { registerNatsMetrics } from './nats/metrics.ts';
export * from './nats/options.ts';
export type { MessageHandler } from './nats/subscriptions.ts';
