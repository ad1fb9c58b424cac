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
  /** Registers the transport's own metrics; loads what that takes. */
  register(registry: Registry): Promise<void>;
  close(): Promise<void>;
}

/** Opens a transport; `onConnected` is called at each connection it makes. */
export type TransportOpener = (onConnected: () => void) => Promise<Transport>;

/** How this configuration publishes; `undefined` when it has neither brokers nor collectors. */
export function transportOpener(
  config: SidecarConfig,
  logger: Logger,
): TransportOpener | undefined {
  if (config.natsUrl.length > 0) return (onConnected) => openNats(config, logger, onConnected);
  if (config.collectorUrl.length > 0) return () => openDirect(config, logger);
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
  ]);
}

function loadDirect() {
  return import('@leadsman/link/grpc/push-sink');
}

async function openNats(
  config: SidecarConfig,
  logger: Logger,
  onConnected: () => void,
): Promise<Transport> {
  const [{ connectNats }, { natsSink }, { natsOptionsFrom }] = await loadNats();
  const name = config.podName || config.podUid || 'sidecar';
  const link = connectNats({ ...natsOptionsFrom(config, `sidecar ${name}`), logger });
  const off = link.onState((connected) => {
    if (connected) onConnected();
  });
  return {
    kind: 'nats',
    sink: natsSink(link, podFramesSubject(config.subjectPrefix, name)),
    register: async (registry) => {
      const { registerNatsMetrics } = await import('@leadsman/link/nats/metrics');
      registerNatsMetrics(registry, 'sidecar', link);
    },
    close: async () => {
      off();
      await link.close();
    },
  };
}

async function openDirect(config: SidecarConfig, logger: Logger): Promise<Transport> {
  const { grpcSink } = await loadDirect();
  const sink = grpcSink({
    targets: config.collectorUrl,
    tls: collectorAccessOf(config),
    logger,
  });
  return {
    kind: 'direct',
    sink,
    register: async (registry) => {
      const { registerPushMetrics } = await import('@leadsman/link/grpc/metrics');
      registerPushMetrics(registry, 'sidecar', sink);
    },
    close: () => sink.close(),
  };
}
