/**
 * Builds the agent's parts and connects them; tests run it in-process.
 *
 * Starting needs neither NATS nor a collector: the agent serves at once, says that it is not
 * ready, and answers 503 until there is a way onward.
 */
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { KubeClient, openAccess } from '@leadsman/kube';
import {
  BatchedWakeup,
  createAdmin,
  type Logger,
  monotonicMs,
  pause,
  StallGuard,
  tickMs,
} from '@leadsman/service';
import { formatHostPort, senderIdBytes } from '@leadsman/wire';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { Batcher } from './batch/batcher.ts';
import { FlushLoop } from './batch/flush-loop.ts';
import type { TakeResult } from './batch/target-table.ts';
import type { NodeAgentConfig } from './config.ts';
import { Discovery, registerDiscoveryMetrics } from './discover/discovery.ts';
import { NodePods } from './discover/node-pods.ts';
import { PodScrapes } from './discover/pod-scrapes.ts';
import { addFrameStreams } from './http/frame-streams.ts';
import { addFramesRoute, type FramesRouteOptions } from './http/frames-route.ts';
import { addTargetsRoute } from './http/targets-route.ts';
import { registerBatchMetrics, registerStreamMetrics } from './metrics.ts';
import { createOutlet } from './outlet.ts';

export interface NodeAgentDeps {
  logger: Logger;
  registry?: Registry;
  /** Where a pod learns of its API server; needed with `scrapePods` or `verifyPods` only. */
  env?: Readonly<Record<string, string | undefined>>;
}

export interface NodeAgent {
  /** `host:port` of reports, probes and metrics. */
  readonly address: string;
  readonly batcher: Batcher;
  /** Sends what waits, then ends. */
  stop(): Promise<void>;
}

/**
 * How long an agent that ends says so, with 503, while it still takes and sends on: time for its
 * sidecars to open transports of their own, loading the code for that included.
 */
const endNoticeMs = 500;

/**
 * How long the reports of one scrape moment may gather before they are read, ms. The sidecars of a
 * node scrape together, and their reports come within a few milliseconds: this thread sleeps through
 * those, deaf to its sockets, instead of waking up for each. Less than `quietMs` of the batch, which
 * then leaves when all have been read.
 */
const gatherMs = 2;

/** Resolves when the agent listens. */
export async function startNodeAgent(
  config: NodeAgentConfig,
  deps: NodeAgentDeps,
): Promise<NodeAgent> {
  const { logger } = deps;
  const registry = deps.registry ?? new Registry();
  collectDefaultMetrics({ register: registry });
  const outlet = createOutlet(config, registry, logger);
  const nodePods = config.verifyPods ? await openNodePods(config, deps) : undefined;
  const batcher = new Batcher({
    sender: { id: randomBytes(senderIdBytes), epoch: Date.now() },
    sink: outlet,
    bounds: { windowMs: config.flushWindowMs, targetsMax: config.targetsMax },
    keyframePhase: Math.random(),
    nowMs: monotonicMs(),
    directory: nodePods,
  });
  registerBatchMetrics(registry, batcher);
  const loop = new FlushLoop(batcher, monotonicMs);
  let ending = false;
  const server = createAdmin({
    registry,
    logger,
    ready: () => {
      if (ending) return 'ending';
      return outlet.connected ? undefined : 'no way onward for reports';
    },
  });
  const guard = new StallGuard(monotonicMs());
  const ticking = setInterval(() => guard.tick(monotonicMs()), tickMs);
  const wakeup = new BatchedWakeup(gatherMs, monotonicMs);
  const take = (frame: Uint8Array, peer: Uint8Array | undefined): TakeResult => {
    const nowMs = monotonicMs();
    // What arrives after this process stood still has waited in its sockets meanwhile, nobody knows
    // for how long. Its sender has another way, or says it anew in a moment.
    if (guard.extraAgeMs(nowMs) > 0) {
      batcher.counters.refusedStalled++;
      return { status: 'stalled' };
    }
    const result = batcher.take(frame, peer, nowMs);
    if (result.status === 'taken') loop.wake();
    return result;
  };
  const discovery = config.scrapePods
    ? await startDiscovery(config, deps, registry, (frame) => take(frame, undefined))
    : undefined;
  const reports: FramesRouteOptions = {
    take: (frame, peer) => {
      wakeup.frameTaken();
      return take(frame, peer);
    },
    forwarding: () => outlet.connected && !ending,
    verifyPeer: config.verifyPeer,
  };
  addFramesRoute(server, reports);
  const streams = addFrameStreams(server.server, { ...reports, logger });
  registerStreamMetrics(registry, streams);
  addTargetsRoute(server, { targets: batcher.targets, nowMs: monotonicMs });
  await server.listen({ host: config.adminHost, port: config.adminPort });
  const bound = server.server.address() as AddressInfo;
  const address = formatHostPort(bound.address, bound.port);
  logger.info({ listener: 'reports', address }, 'listening');
  return {
    address,
    batcher,
    stop: async () => {
      ending = true;
      if (batcher.targets.size > 0) await pause(endNoticeMs);
      streams.close();
      await server.close();
      clearInterval(ticking);
      await discovery?.stop();
      await nodePods?.stop();
      loop.stop();
      await outlet.close();
    },
  };
}

/** Rejects when there is no way to the API server by configuration. */
async function openNodePods(config: NodeAgentConfig, deps: NodeAgentDeps): Promise<NodePods> {
  const access = await openAccess({ kubeconfigFile: config.kubeconfig, env: deps.env ?? {} });
  const { nodeName } = config;
  const client = new KubeClient(access);
  const pods = new NodePods({ client, nodeName, logger: deps.logger, random: Math.random });
  pods.start();
  return pods;
}

/** Rejects when there is no way to the API server by configuration. */
async function startDiscovery(
  config: NodeAgentConfig,
  deps: NodeAgentDeps,
  registry: Registry,
  take: (frame: Uint8Array) => void,
): Promise<Discovery> {
  const access = await openAccess({ kubeconfigFile: config.kubeconfig, env: deps.env ?? {} });
  const scrapes = new PodScrapes({
    nodeName: config.nodeName,
    intervalMs: config.scrapeIntervalMs,
    byName: config.scrapeByName === 'auto',
    targetsMax: config.targetsMax,
    sender: { id: randomBytes(senderIdBytes), epoch: Date.now() },
    take,
    nowMs: monotonicMs,
    unixMs: Date.now,
    random: Math.random,
    onError: (err, pod) => deps.logger.warn({ err, pod }, 'pod cannot be scraped'),
  });
  const discovery = new Discovery({
    client: new KubeClient(access),
    nodeName: config.nodeName,
    selector: config.scrapeSelector,
    portDefault: config.scrapePort,
    scrapes,
    logger: deps.logger,
    random: Math.random,
  });
  registerDiscoveryMetrics(registry, discovery, scrapes);
  discovery.start();
  return discovery;
}
