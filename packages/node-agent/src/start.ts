/**
 * Builds the agent's parts and connects them; tests run it in-process.
 *
 * Starting needs neither NATS nor a collector: the agent serves at once, says that it is not
 * ready, and answers 503 until there is a way onward.
 */
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createAdmin, type Logger, monotonicMs } from '@leadsman/service';
import { formatHostPort, senderIdBytes } from '@leadsman/wire';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { Batcher } from './batch/batcher.ts';
import { FlushLoop } from './batch/flush-loop.ts';
import type { NodeAgentConfig } from './config.ts';
import { addFramesRoute } from './http/frames-route.ts';
import { addTargetsRoute } from './http/targets-route.ts';
import { registerBatchMetrics } from './metrics.ts';
import { createOutlet } from './outlet.ts';

export interface NodeAgentDeps {
  logger: Logger;
  registry?: Registry;
}

export interface NodeAgent {
  /** `host:port` of reports, probes and metrics. */
  readonly address: string;
  readonly batcher: Batcher;
  /** Sends what waits, then ends. */
  stop(): Promise<void>;
}

/** Resolves when the agent listens. */
export async function startNodeAgent(
  config: NodeAgentConfig,
  deps: NodeAgentDeps,
): Promise<NodeAgent> {
  const { logger } = deps;
  const registry = deps.registry ?? new Registry();
  collectDefaultMetrics({ register: registry });
  const outlet = createOutlet(config, registry, logger);
  const batcher = new Batcher({
    sender: { id: randomBytes(senderIdBytes), epoch: Date.now() },
    sink: outlet,
    bounds: { windowMs: config.flushWindowMs, targetsMax: config.targetsMax },
    keyframePhase: Math.random(),
    nowMs: monotonicMs(),
  });
  registerBatchMetrics(registry, batcher);
  const loop = new FlushLoop(batcher, monotonicMs);
  const server = createAdmin({
    registry,
    logger,
    ready: () => (outlet.connected ? undefined : 'no way onward for reports'),
  });
  const take = (frame: Uint8Array, peer: Uint8Array | undefined) => {
    const result = batcher.take(frame, peer, monotonicMs());
    if (result.status === 'taken') loop.wake();
    return result;
  };
  addFramesRoute(server, {
    take,
    forwarding: () => outlet.connected,
    verifyPeer: config.verifyPeer,
  });
  addTargetsRoute(server, { targets: batcher.targets, nowMs: monotonicMs });
  await server.listen({ host: config.adminHost, port: config.adminPort });
  const bound = server.server.address() as AddressInfo;
  const address = formatHostPort(bound.address, bound.port);
  logger.info({ listener: 'reports', address }, 'listening');
  return {
    address,
    batcher,
    stop: async () => {
      await server.close();
      loop.stop();
      await outlet.close();
    },
  };
}
