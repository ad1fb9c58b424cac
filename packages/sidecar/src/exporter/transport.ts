/**
 * The sidecar's own way to the collectors, opened only when it is needed: under an agent a sidecar
 * neither connects to a broker nor loads the code for it, which would take a fifth of its memory.
 */
import type { FrameSink } from '@leadsman/link/frame-port';
import type { Logger } from '@leadsman/service';
import { podFramesSubject } from '@leadsman/wire';
import type { Registry } from 'prom-client';
import type { SidecarConfig } from '../config.ts';

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
  if (config.collectorUrl.length > 0) return () => openDirect(config, logger);
  return undefined;
}

async function openNats(
  config: SidecarConfig,
  registry: Registry,
  logger: Logger,
  onConnected: () => void,
): Promise<Transport> {
  const [{ connectNats }, { natsSink }, { natsOptionsFrom }, { registerNatsMetrics }] =
    await Promise.all([
      import('@leadsman/link/nats/link'),
      import('@leadsman/link/nats/frames'),
      import('@leadsman/link/nats/options'),
      import('@leadsman/link/nats/metrics'),
    ]);
  const name = config.podName || config.podUid || 'sidecar';
  const link = connectNats({ ...natsOptionsFrom(config, `sidecar ${name}`), logger });
  const off = link.onState((connected) => {
    if (connected) onConnected();
  });
  const before = new Set(registry.getMetricsAsArray().map((metric) => metric.name));
  registerNatsMetrics(registry, 'sidecar', link);
  return {
    kind: 'nats',
    sink: natsSink(link, podFramesSubject(config.subjectPrefix, name)),
    close: async () => {
      off();
      // The next connection registers its own.
      for (const metric of registry.getMetricsAsArray()) {
        if (!before.has(metric.name) && metric.name.startsWith('leadsman_sidecar_nats_')) {
          registry.removeSingleMetric(metric.name);
        }
      }
      await link.close();
    },
  };
}

async function openDirect(config: SidecarConfig, logger: Logger): Promise<Transport> {
  const { grpcSink } = await import('@leadsman/link/grpc/push-sink');
  const sink = grpcSink({
    targets: config.collectorUrl,
    tls: {
      caFile: config.collectorTlsCaFile,
      certFile: config.collectorTlsCertFile,
      keyFile: config.collectorTlsKeyFile,
    },
    logger,
  });
  return { kind: 'direct', sink, close: () => sink.close() };
}
