export * from './frame-port.ts';
export type { NatsCounters } from './nats/counters.ts';
export { CredentialsError, type NatsCredentials } from './nats/credentials.ts';
export { natsSink, natsSource } from './nats/frames.ts';
export { connectNats, type NatsLink } from './nats/link.ts';
export { registerNatsMetrics } from './nats/metrics.ts';
export * from './nats/options.ts';
export type { MessageHandler } from './nats/subscriptions.ts';
