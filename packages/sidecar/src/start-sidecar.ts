/**
 * Builds the sidecar's parts and connects them; tests run it in-process.
 *
 * Nothing here waits for the engine, the agent or a broker: the sidecar serves at once and is
 * ready at once, as a container that is not would keep its model pod out of service.
 */
import { randomBytes } from 'node:crypto';
import { agentSink } from '@leadsman/link/agent';
import { PageReader, Target, type TargetOptions } from '@leadsman/scrape';
import { type Logger, listenLazily, monotonicMs } from '@leadsman/service';
import { formatHostPort, keyframeIntervalMs, senderIdBytes } from '@leadsman/wire';
import { agentUrlOf, paceOf, type SidecarConfig, targetsOf } from './config/config.ts';
import { Exporter } from './exporter/exporter.ts';
import { loadTransport, transportOpener } from './exporter/transport.ts';
import { FrameComposer } from './frame-composer.ts';
import { type Interfaces, podAddressOf } from './pod-address.ts';
import { ScrapeOutcomes } from './scrape-outcomes.ts';

export interface SidecarDeps {
  logger: Logger;
  random?: () => number;
  /** The machine's network interfaces, where the pod's address is found if it is not given. */
  interfaces?: Interfaces;
}

export interface Sidecar {
  /** `host:port` of snapshot, probes and metrics. */
  readonly address: string;
  readonly targets: readonly Target[];
  readonly exporter: Exporter;
  /** Says that the pod's targets are gone, then ends. */
  stop(): Promise<void>;
}

/** The agent answers within a few milliseconds when it is there at all. */
const agentPatienceMs = 500;
/** An agent that restarts is back within seconds; see DirectPublishing. */
const ownGraceMs = 10_000;

/**
 * Resolves when the sidecar listens. Throws when the mapping file, the engine's name or a URL cannot
 * be used, or when nothing tells the pod's address.
 */
export async function startSidecar(config: SidecarConfig, deps: SidecarDeps): Promise<Sidecar> {
  const { logger } = deps;
  const random = deps.random ?? Math.random;
  const outcomes = new ScrapeOutcomes();
  const send = (frames: readonly Uint8Array[]) => {
    for (const frame of frames) exporter.send(frame);
  };
  /** Targets with news that no frame has told yet, as the agent still takes the last one. */
  const held = new Set<Target>();
  const sendHeld = () => {
    if (held.size === 0) return;
    composer.limit(exporter.frameBytesMax);
    const frames = composer.changes(held, monotonicMs());
    held.clear();
    send(frames);
  };
  const reader = await createReader(config);
  const address = findAddress(config, deps);
  const targets = createTargets(config, address, reader, random, (target) => {
    outcomes.add(target.state.reason);
    held.add(target);
    if (!exporter.busy) sendHeld();
  });
  const sender = { id: randomBytes(senderIdBytes), epoch: Date.now() };
  const composer = new FrameComposer(targets, sender);
  const sendKeyframe = () => {
    held.clear();
    composer.limit(exporter.frameBytesMax);
    send(composer.keyframe(monotonicMs()));
  };
  const exporter = createExporter(config, logger, {
    onWay: sendKeyframe,
    onFree: sendHeld,
  });
  const sources = { targets, exporter, composer, outcomes, nowMs: monotonicMs };
  const server = await listenLazily({
    host: config.adminHost,
    port: config.adminPort,
    load: async () => (await import('./admin-server.ts')).adminServer(sources, config, logger),
    onError: (error) => logger.error({ err: error }, 'admin port cannot serve'),
  });
  const listener = formatHostPort(server.address.address, server.address.port);
  logger.info({ listener: 'admin', address: listener }, 'listening');
  if (config.exporterMode !== 'node') await loadTransport(config);
  const isHeard = agentUrlOf(config) !== '' && config.exporterMode !== 'pod';
  if (!isHeard && config.natsUrl.length + config.collectorUrl.length === 0) {
    logger.warn('neither an agent nor NATS nor collectors are configured: no report will leave');
  }
  for (const target of targets) target.start();
  const keyframes = setInterval(sendKeyframe, keyframeIntervalMs);
  return {
    address: listener,
    targets,
    exporter,
    stop: async () => {
      clearInterval(keyframes);
      await Promise.all(targets.map((target) => target.stop()));
      held.clear();
      send(composer.gone());
      await exporter.close();
      await server.close();
    },
  };
}

async function createReader(config: SidecarConfig): Promise<PageReader> {
  if (config.engineMappingFile === '') return new PageReader();
  const { readCustomMapping } = await import('@leadsman/scrape/custom');
  return new PageReader([readCustomMapping(config.engineMappingFile)]);
}

/** The address to report; said once in the log when it was not given. */
function findAddress(config: SidecarConfig, { logger, interfaces = {} }: SidecarDeps): string {
  const urls = targetsOf(config).map(({ url }) => url);
  const { address, from, warning } = podAddressOf(config.podIp, urls, interfaces);
  if (warning !== '') logger.warn({ address, from }, warning);
  else if (from !== 'pod-ip') logger.info({ address, from }, 'no pod IP is given; found one');
  return address;
}

function createTargets(
  config: SidecarConfig,
  address: string,
  reader: PageReader,
  random: () => number,
  onReport: (target: Target) => void,
): Target[] {
  // A mapping is there to be used: `auto` could only guess whether the page is meant.
  const isMapped = config.engineMappingFile !== '' && config.engine === 'auto';
  const engine = isMapped ? (reader.engineNames[0] as string) : config.engine;
  const clock = { nowMs: monotonicMs, unixMs: Date.now };
  return targetsOf(config).map(({ port, url }, rank) => {
    const options: TargetOptions = {
      identity: {
        podUid: config.podUid || config.podName || `${address}:${port}`,
        podName: config.podName,
        namespace: config.podNamespace,
        nodeName: config.nodeName,
        address,
        port,
        rank,
        reporter: 'sidecar',
        metricsPort: new URL(url).port,
      },
      fetch: {
        url,
        timeoutMs: config.scrapeTimeoutMs,
        bytesMax: config.pageBytesMax,
        tokenFile: config.tokenFile,
        localAddress: config.localAddress,
        tlsCaFile: config.engineTlsCaFile,
        tlsVerify: config.engineTlsVerify,
      },
      pace: paceOf(config),
      suspicion: { scrapes: config.suspectAfterScrapes, forMs: config.suspectAfterMs },
      engine,
      byName: config.scrapeByName === 'auto',
    };
    return new Target(options, { reader, clock, random, onReport });
  });
}

function createExporter(
  config: SidecarConfig,
  logger: Logger,
  events: { onWay: () => void; onFree: () => void },
): Exporter {
  const url = agentUrlOf(config);
  const { localAddress } = config;
  return new Exporter({
    mode: config.exporterMode,
    agent:
      url === ''
        ? undefined
        : (hop) => agentSink({ url, ...hop, ...(localAddress === '' ? {} : { localAddress }) }),
    open: transportOpener(config, logger),
    patienceMs: agentPatienceMs,
    graceMs: ownGraceMs,
    nowMs: monotonicMs,
    ...events,
    onError: (error) => logger.warn({ err: error }, 'own transport cannot be opened'),
  });
}
