/**
 * The sidecar's own way to the collectors. Under an agent a sidecar does not connect to a broker:
 * connections are a tenth then. The code for it is loaded at the start all the same (a megabyte):
 * that takes 30 to 90 ms, in which nothing is scraped or sent, and when an agent has died there is
 * no time for it.
 */
import type { FrameSink } from '@leadsman/link/frame-port';
import { collectorAccessOf, type Logger } from '@leadsman/service';
import { podFramesSubject } from '@leadsman/wire';
import type { Registry } from 'prom-client';
import type { SidecarConfig } from '../config/config.ts';

export interface Transport {
  readonly kind: 'nats' | 'direct';
  readonly sink: FrameSink;
  close(): Promise<void>;
}

/** Opens a transport; `onConnected` is called at each connection it makes. */
export type TransportOpener = (onConnected: () => void) => Promise<Transport>;

/** How this configuration publishes; `undefined` when it has neither brokers nor collectors. */
export function transportOpener(
  config: SidecarConfig,
  registry: Registry,
  logger: Logger,
): TransportOpener | undefined {
  if (config.natsUrl.length > 0)
    return (onConnected) => openNats(config, registry, logger, onConnected);
  if (config.collectorUrl.length > 0) return () => openDirect(config, registry, logger);
  return undefined;
}

/** Loads what an opener of this configuration needs, so that opening is quick. */
export async function loadTransport(config: SidecarConfig): Promise<void> {
  if (config.natsUrl.length > 0) await loadNats();
  else if (config.collectorUrl.length > 0) await loadDirect();
}

function loadNats() {
  return Promise.all([
    import('@leadsman/link/nats/link'),
    import('@leadsman/link/nats/frames'),
    import('@leadsman/link/nats/options'),
    import('@leadsman/link/nats/metrics'),
  ]);
}

function loadDirect() {
  return Promise.all([
    import('@leadsman/link/grpc/push-sink'),
    import('@leadsman/link/grpc/metrics'),
  ]);
}

async function openNats(
  config: SidecarConfig,
  registry: Registry,
  logger: Logger,
  onConnected: () => void,
): Promise<Transport> {
  const [{ connectNats }, { natsSink }, { natsOptionsFrom }, { registerNatsMetrics }] =
    await loadNats();
  const name = config.podName || config.podUid || 'sidecar';
  const link = connectNats({ ...natsOptionsFrom(config, `sidecar ${name}`), logger });
  const off = link.onState((connected) => {
    if (connected) onConnected();
  });
  registerNatsMetrics(registry, 'sidecar', link);
  return {
    kind: 'nats',
    sink: natsSink(link, podFramesSubject(config.subjectPrefix, name)),
    close: async () => {
      off();
      removeMetrics(registry, 'leadsman_sidecar_nats_');
      await link.close();
    },
  };
}

async function openDirect(
  config: SidecarConfig,
  registry: Registry,
  logger: Logger,
): Promise<Transport> {
  const [{ grpcSink }, { registerPushMetrics }] = await loadDirect();
  const sink = grpcSink({
    targets: config.collectorUrl,
    tls: collectorAccessOf(config),
    logger,
  });
  registerPushMetrics(registry, 'sidecar', sink);
  return {
    kind: 'direct',
    sink,
    close: async () => {
      removeMetrics(registry, 'leadsman_sidecar_push_');
      await sink.close();
    },
  };
}

/** Takes the metrics of a transport that ends off the page: the next one registers its own. */
function removeMetrics(registry: Registry, prefix: string): void {
  for (const { name } of registry.getMetricsAsArray()) {
    if (name.startsWith(prefix)) registry.removeSingleMetric(name);
  }
}
