/** Where the agent's frames go, by configuration: NATS, or streams to the collectors. */
import {
  connectNats,
  type FrameSink,
  grpcSink,
  type LinkLogger,
  natsOptionsFrom,
  natsSink,
  registerNatsMetrics,
  registerPushMetrics,
} from '@leadsman/link';
import { collectorAccessOf } from '@leadsman/service';
import { nodeFramesSubject } from '@leadsman/wire';
import type { Registry } from 'prom-client';
import type { NodeAgentConfig } from './config.ts';

/** Returns at once; connects in the background. */
export function createOutlet(
  config: NodeAgentConfig,
  registry: Registry,
  logger: LinkLogger,
): FrameSink {
  if (config.collectorUrl.length > 0) {
    const sink = grpcSink({
      targets: config.collectorUrl,
      tls: collectorAccessOf(config),
      logger,
    });
    registerPushMetrics(registry, 'node_agent', sink);
    return sink;
  }
  const link = connectNats({
    ...natsOptionsFrom(config, `node-agent ${config.nodeName}`),
    logger,
  });
  registerNatsMetrics(registry, 'node_agent', link);
  const sink = natsSink(link, nodeFramesSubject(config.subjectPrefix, config.nodeName));
  return {
    get frameBytesMax() {
      return sink.frameBytesMax;
    },
    get connected() {
      return sink.connected;
    },
    send: (frame) => sink.send(frame),
    close: () => link.close(),
  };
}
