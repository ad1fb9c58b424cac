/**
 * What answers on a sidecar's admin port: `/snapshot`, `/metrics` and the probes. Loaded with the first
 * connection there; the page's registry is made for each question, as few ask, and seldom.
 */
import type { Server } from 'node:http';
import { createAdmin, type Logger } from '@leadsman/service';
import { Registry } from 'prom-client';
import type { SidecarConfig } from './config/config.ts';
import { type MetricSources, registerSidecarMetrics } from './metrics.ts';
import { snapshotJson } from './snapshot.ts';

/** Resolves with a server that does not listen yet. */
export async function adminServer(
  sources: MetricSources,
  config: SidecarConfig,
  logger: Logger,
): Promise<Server> {
  const { targets, exporter, nowMs } = sources;
  const page = {
    contentType: Registry.PROMETHEUS_CONTENT_TYPE,
    metrics: async () => {
      const registry = new Registry();
      registerSidecarMetrics(registry, sources);
      await exporter.registerTransport(registry);
      return registry.metrics();
    },
  };
  const admin = createAdmin({ registry: page, logger, ready: () => undefined });
  admin.get('/snapshot', () => snapshotJson(targets, exporter, config.exporterMode, nowMs()));
  await admin.ready();
  return admin.server as Server;
}
