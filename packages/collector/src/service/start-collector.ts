/**
 * The collector as a service: one view for many pickers, autoscalers and people.
 *
 * Replicas are equal and know nothing of each other: each hears all senders. HTTP is for people and
 * probes, gRPC for senders without a broker (`Push`) and for pickers without one (`Watch`).
 */
import { randomBytes } from 'node:crypto';
import { natsOptionsFrom } from '@leadsman/link';
import { createAdmin, type Logger, monotonicMs, registerReadCounters } from '@leadsman/service';
import { createView, type FeedState, feedState } from '@leadsman/view/layout';
import { formatHostPort } from '@leadsman/wire';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { CollectorCore } from '../core/collector-core.ts';
import { registerCollectorMetrics } from '../core/metrics.ts';
import type { FeedConfig } from '../feed/feed-config.ts';
import { Departures } from '../watch/departures.ts';
import { WatchServer } from '../watch/watch-server.ts';
import type { CollectorConfig } from './config.ts';
import { registerEndpointMetrics } from './endpoint-metrics.ts';
import { addEndpointsRoute } from './endpoints-route.ts';

export interface CollectorService {
  /** `host:port` of the HTTP side. */
  adminAddress: string;
  /** `host:port` of the gRPC side. */
  grpcAddress: string;
  stop(): Promise<void>;
}

const feedText: Record<FeedState, string> = {
  [feedState.never]: 'no source has connected yet',
  [feedState.disconnected]: 'disconnected',
  [feedState.syncing]: 'connected, not complete yet',
  [feedState.synced]: 'synced',
};

type Environment = Readonly<Record<string, string | undefined>>;

/** Starts all parts; rejects when a port cannot be had. */
export async function startCollector(
  config: CollectorConfig,
  logger: Logger,
  env: Environment = {},
): Promise<CollectorService> {
  const view = createView({ slotsMax: config.endpointsMax });
  const departures = new Departures(config.endpointsMax);
  const epoch = Date.now();
  const watchServer = new WatchServer({
    view,
    departures,
    intervalMs: config.watchIntervalMs,
    watchersMax: config.watchersMax,
    synced: () => core.feedState === feedState.synced,
    nowMs: monotonicMs,
    sender: () => ({ id: randomBytes(16), epoch }),
  });
  const core = new CollectorCore(
    {
      view,
      feed: feedConfigOf(config, env),
      expireAfterMs: config.expireAfterMs,
      keepRanks: true,
      departures,
    },
    {
      logger,
      nowMs: monotonicMs,
      random: Math.random,
      sleeps: false,
      watch: watchServer.watch,
    },
  );
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  registerCollectorMetrics(registry, () => core.snapshot());
  registerWatchMetrics(registry, watchServer);
  const { staleAfterMs } = config;
  if (config.endpointMetrics) {
    registerEndpointMetrics(registry, { view, staleAfterMs, nowMs: monotonicMs });
  }
  const admin = createAdmin({
    registry,
    logger,
    authorize: await authorizerOf(config, logger, env),
    // Watchers are refused in the same states, so they are sent to a replica that is whole.
    ready: () => {
      if (core.feedState === feedState.synced) return undefined;
      return core.feed.problem ?? feedText[core.feedState];
    },
  });
  addEndpointsRoute(admin, {
    view,
    staleAfterMs,
    nowMs: monotonicMs,
    feed: () => feedText[core.feedState],
    ranksRecord: (slot) => core.ingest.ranksRecord(slot),
  });
  const stop = async () => {
    watchServer.stop();
    await Promise.all([admin.close(), core.stop()]);
  };
  try {
    await core.start();
    await admin.listen({ host: config.adminHost, port: config.adminPort });
  } catch (error) {
    // What has begun must not go on listening behind a start that failed.
    await stop();
    throw error;
  }
  const bound = admin.server.address();
  const port = typeof bound === 'object' ? (bound?.port ?? 0) : 0;
  const service: CollectorService = {
    adminAddress: formatHostPort(config.adminHost, port),
    grpcAddress: core.feed.directAddress,
    stop,
  };
  logger.info({ listener: 'admin', address: service.adminAddress }, 'listening');
  logger.info({ listener: 'grpc', address: service.grpcAddress }, 'listening');
  return service;
}

/** Loads the client of the API server only where somebody is kept out. */
async function authorizerOf(config: CollectorConfig, logger: Logger, env: Environment) {
  if (config.adminTokenFile === '' && config.adminTokenAudience === '') return undefined;
  const { askerCheck } = await import('../feed/caller-check.ts');
  return askerCheck(config, { logger, nowMs: monotonicMs, env });
}

function feedConfigOf(config: CollectorConfig, env: Environment): FeedConfig {
  const feed: FeedConfig = {
    name: 'collector',
    direct: { host: config.grpcHost, port: config.grpcPort },
  };
  if (config.grpcTlsCertFile !== '' && feed.direct !== undefined) {
    feed.direct.tls = {
      certFile: config.grpcTlsCertFile,
      keyFile: config.grpcTlsKeyFile,
      caFile: config.grpcTlsClientCaFile,
    };
  }
  const { callerTokenFile: file, callerTokenAudience: audience, kubeconfig } = config;
  if (feed.direct !== undefined && (file !== '' || audience !== '')) {
    feed.direct.tokens = { file, audience, kubeconfigFile: kubeconfig, env };
  }
  if (config.natsUrl.length > 0) {
    const options = natsOptionsFrom(config, 'leadsman-collector');
    feed.nats = { options, subjectPrefix: config.subjectPrefix };
  }
  return feed;
}

function registerWatchMetrics(registry: Registry, server: WatchServer): void {
  registerReadCounters(registry, 'collector', [
    ['watch_frames_total', 'Frames sent to watchers.', () => server.counters.frames],
    ['watch_frame_bytes_total', 'Their bytes.', () => server.counters.frameBytes],
    ['watch_lags_total', 'Times a watcher was still busy.', () => server.counters.lags],
    [
      'watch_departures_missed_total',
      'Departures that a watcher lagged too long to be told of.',
      () => server.counters.missedDepartures,
    ],
    ['watch_refused_total', 'Watchers sent away at once.', () => server.counters.refused],
    ['watch_ended_total', 'Watchers sent away as the feed was lost.', () => server.counters.ended],
  ]);
  new Gauge({
    name: 'leadsman_collector_watchers',
    help: 'Pickers that watch this collector.',
    registers: [registry],
    collect() {
      this.set(server.watchers);
    },
  });
}
