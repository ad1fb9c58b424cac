/**
 * The picker's main process: its parts and how they are wired.
 *
 * ```
 * membership ──> registry ──> broadcast ──┐
 * strategy file, other replicas ──> hub ──┼──messages──> worker processes ──> gateways
 * collector process ──> fleet view ───────┴──shared memory──^
 * ```
 *
 * The main process is control plane only. When it stalls, the workers go on with what they have;
 * when it ends, they end.
 */

import {
  askerCheck,
  type EmbeddedCollector,
  registerCollectorMetrics,
  startEmbeddedCollector,
} from '@leadsman/collector';
import { Counters } from '@leadsman/ext-proc/counters';
import { startHealthServer } from '@leadsman/ext-proc/health/health-server';
import { HealthState } from '@leadsman/ext-proc/health/health-state';
import { SharedRequests } from '@leadsman/ext-proc/in-flight/shared-requests';
import { heldBytesMaxFor } from '@leadsman/ext-proc/server/server';
import { connectNats, type NatsLink } from '@leadsman/link/nats/link';
import { registerNatsMetrics } from '@leadsman/link/nats/metrics';
import { natsOptionsFrom } from '@leadsman/link/nats/options';
import { natsReplicaTransport } from '@leadsman/scheduling/hub/replica/replica-transport';
import { SchedulingHub } from '@leadsman/scheduling/hub/scheduling-hub';
import { registerSchedulingMetrics } from '@leadsman/scheduling/hub/scheduling-metrics';
import { ConfigSource } from '@leadsman/scheduling/hub/strategy-file/config-source';
import { InFlightAudit } from '@leadsman/scheduling/shared/in-flight-audit';
import { InFlightField, InFlightTable } from '@leadsman/scheduling/shared/in-flight-table';
import { createAdmin, type Logger, monotonicMs } from '@leadsman/service';
import { SharedMemory } from '@leadsman/service/processes/shared-memory';
import { feedState } from '@leadsman/view/layout';
import { ViewReader } from '@leadsman/view/reader';
import type { Registry } from 'prom-client';
import { registerPickerMetrics } from './admin/metrics.ts';
import { addPickerRoutes } from './admin/routes.ts';
import { SilentPorts } from './admin/silent-ports.ts';
import { SlowReports } from './admin/slow-reports.ts';
import type { PickerConfig } from './config/picker-config.ts';
import { feedOf } from './feed.ts';
import { openMembership } from './open-membership.ts';
import { EndpointIndex } from './pool/endpoint-index.ts';
import { PoolRegistry } from './pool/pool-registry.ts';
import { Readiness } from './readiness.ts';
import { Teardown } from './teardown.ts';
import { openIdentity } from './tls/identity.ts';
import { ExtProcWorkers } from './workers/ext-proc-workers.ts';
import { nodeOptionsFor } from './workers/node-options.ts';
import { openPickerMemory, type PickerMemory } from './workers/picker-memory.ts';
import { PoolBroadcast } from './workers/pool-broadcast.ts';

export interface PickerDeps {
  logger: Logger;
  registry: Registry;
  random: () => number;
  /** Unix time, ms: for certificates and for the epoch of this replica. */
  unixMs: () => number;
  env: Readonly<Record<string, string | undefined>>;
}

export interface RunningPicker {
  /** `host:port` by listener: `ext_proc`, `health`, `admin`. */
  readonly addresses: Readonly<Record<string, string>>;
  readonly collector: EmbeddedCollector;
  readonly workers: ExtProcWorkers;
  /** Drains the workers within the configured grace, then ends everything. */
  stop(): Promise<void>;
}

/** How often readiness is looked at and told to workers and health services, ms. */
const readinessIntervalMs = 50;
/** Between two looks at what is wrong with the members of pools. */
const poolsIntervalMs = 5_000;

/**
 * Starts everything. Rejects when an address, a certificate or a strategy cannot be used; then
 * nothing that was started goes on.
 */
export async function startPicker(config: PickerConfig, deps: PickerDeps): Promise<RunningPicker> {
  const teardown = new Teardown();
  try {
    return await start(config, deps, teardown);
  } catch (error) {
    await teardown.run();
    throw error;
  }
}

async function start(
  config: PickerConfig,
  deps: PickerDeps,
  teardown: Teardown,
): Promise<RunningPicker> {
  const { logger, registry } = deps;
  const { configFile: file, strategy, staleAfterMs } = config;
  const source = new ConfigSource({ file, strategy, staleAfterMs });
  const loaded = await source.load();
  const { endpointsMax } = config;
  const memorySize = {
    endpointsMax,
    workers: config.workers,
    prefixIndex: loaded.config.prefixIndex,
  };
  const memory = SharedMemory.create('leadsman-picker');
  teardown.add(async () => memory.close());
  const shared = openPickerMemory(memorySize, memory.allocate);
  const nodeOptions = nodeOptionsFor(process.constrainedMemory(), config.workers);
  const identity = config.tls
    ? await openIdentity({
        certFile: config.tlsCertFile,
        keyFile: config.tlsKeyFile,
        unixMs: deps.unixMs(),
        logger,
      })
    : undefined;
  const inFlight = new InFlightTable(shared.inFlight, shared.inFlightShape, -1);
  const requests = (index: number) => inFlight.total(index, InFlightField.requests);
  const audit = new InFlightAudit(inFlight);
  teardown.add(async () => audit.stop());
  const replicaName = config.replicaName || config.podName || randomName(deps.random);
  const addresses: Record<string, string> = {};
  const listening = (listener: string, address: string) => {
    addresses[listener] = address;
    logger.info({ listener, address }, 'listening');
  };

  const collector = startEmbeddedCollector({
    memory,
    view: shared.view,
    nodeOptions: nodeOptions.collector,
    feed: feedOf(config, replicaName, deps.env),
    expireAfterMs: config.expireAfterMs,
    logLevel: config.logLevel,
    logger,
    random: deps.random,
    onListening: (address) => listening('direct', address),
  });
  teardown.add(() => collector.stop());
  const link = openReplicaLink(config, replicaName, logger);
  teardown.add(async () => link?.close());
  const hub: SchedulingHub = new SchedulingHub({
    source,
    loaded,
    memory: shared.scheduling,
    inFlight,
    transport: link && natsReplicaTransport(link, config.subjectPrefix, replicaName),
    replicaName,
    epoch: deps.unixMs(),
    workers: () => workers.running,
    restarts: () => workers.restarts,
    post: (message) => workers.post(message),
    clock: monotonicMs,
    logger,
  });
  const broadcast = new PoolBroadcast(
    (updates, removed) => {
      hub.poolsChanged(updates, removed);
      workers.post({ type: 'pools', updates, removed });
    },
    (error) => logger.error({ err: error }, 'pools could not be told, again soon'),
  );
  const index = new EndpointIndex(config.endpointsMax, requests);
  const pools = new PoolRegistry({ index, changes: broadcast, nowMs: monotonicMs });
  const workers: ExtProcWorkers = new ExtProcWorkers({
    config,
    memory,
    memorySize,
    heartbeats: shared.heartbeats,
    nodeOptions: nodeOptions.worker,
    heldBytesMax: heldBytesMaxFor(process.constrainedMemory(), config.workers),
    identity: identity?.first,
    scheduling: () => hub.config,
    pools: () => pools.updates(),
    onScheduling: (worker, message) => hub.receive(worker, message),
    onExit: (worker) => {
      inFlight.forgetWorker(worker);
      new SharedRequests(shared.requests, worker).forget();
      hub.forgetWorker(worker);
      audit.begin();
    },
    random: deps.random,
    logger,
  });
  const membership = await openMembership(config, { ...deps, view: shared.view });
  const viewState = new ViewReader(shared.view);
  const readiness = new Readiness({
    membership: () => membership.notSynced(),
    viewSynced: () => viewState.feed === feedState.synced || viewState.everSynced,
    workersServing: () => workers.serving,
    nowMs: monotonicMs,
    readyAfterMs: config.readyAfterMs,
  });

  membership.start(pools);
  teardown.add(() => membership.stop());
  hub.start();
  teardown.add(() => hub.stop());
  teardown.add(async () => broadcast.stop());
  teardown.add(() => workers.stop());
  const port = await workers.start();
  listening('ext_proc', `${config.extProcHost}:${port}`);
  identity?.follow((changed) => workers.setIdentity(changed));
  teardown.add(async () => identity?.stop());

  const health = new HealthState();
  const healthServer = await startHealthServer(
    { host: config.extProcHost, port: config.healthPort },
    health,
  );
  teardown.add(() => healthServer.stop());
  listening('health', `${config.extProcHost}:${healthServer.port}`);
  const look = () => {
    const ready = readiness.missing() === undefined;
    health.setSynced(ready);
    workers.setReady(ready);
  };
  look();
  const readinessTimer = setInterval(look, readinessIntervalMs);
  teardown.add(async () => clearInterval(readinessTimer));

  const admin = createAdmin({
    registry,
    logger,
    ready: () => readiness.missing(),
    authorize: await askerCheck(config, { logger, nowMs: monotonicMs, env: deps.env }),
  });
  const picks = new Uint32Array(shared.picks);
  const silentPorts = new SilentPorts(new ViewReader(shared.view), logger);
  const slowReports = new SlowReports(new ViewReader(shared.view), logger, (pool) => {
    return (hub.config.pools[pool] ?? hub.config.default).staleAfterMs;
  });
  const poolsTimer = setInterval(() => {
    const status = pools.status();
    silentPorts.look(status);
    slowReports.look(status);
  }, poolsIntervalMs);
  teardown.add(async () => clearInterval(poolsTimer));
  addPickerRoutes(admin, {
    pools: () => pools.status(),
    membership: () => membership.state?.(),
    reader: new ViewReader(shared.view),
    silentPorts: (pool) => silentPorts.of(pool),
    waiting: (pool) => hub.totals.waiting(pool),
    inFlight: requests,
    picks: (position) => Atomics.load(picks, position),
    nowMs: monotonicMs,
    staleAfterMs: config.staleAfterMs,
    reload: async () => {
      const result = await hub.reload();
      return result.ok ? [] : result.problems;
    },
  });
  registerPickerMetrics(registry, {
    counters: countersOf(shared),
    pools: () => pools.status(),
    inFlight: requests,
    slowReports: (pool) => slowReports.of(pool),
    workers,
    endpointsDropped: () => index.dropped,
    collector,
    nowMs: monotonicMs,
    notReady: () => readiness.missing(),
  });
  teardown.add(async () => admin.close());
  registerCollectorMetrics(registry, () => collector.snapshot);
  registerSchedulingMetrics(registry, hub, monotonicMs);
  if (link !== undefined) registerNatsMetrics(registry, 'picker', link);
  const adminAddress = await admin.listen({ host: config.adminHost, port: config.adminPort });
  listening('admin', new URL(adminAddress).host);

  async function stop(): Promise<void> {
    readiness.startDraining();
    health.startDraining();
    await workers.drain(config.drainNoticeMs, config.drainGraceMs);
    await teardown.run();
  }

  return { addresses, collector, workers, stop };
}

/** Replicas tell each other over NATS; without it each counts its own requests only. */
function openReplicaLink(
  config: PickerConfig,
  replicaName: string,
  logger: Logger,
): NatsLink | undefined {
  if (config.natsUrl.length === 0) return undefined;
  return connectNats({ ...natsOptionsFrom(config, `leadsman-picker-${replicaName}`), logger });
}

function countersOf(shared: PickerMemory): Counters[] {
  return shared.counters.map((buffer) => new Counters(buffer));
}

function randomName(random: () => number): string {
  return `picker-${Math.floor(random() * 2 ** 32).toString(16)}`;
}
