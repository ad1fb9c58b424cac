/** The injector as the chart installs it, but in this process: its account, names and template. */
import { readSidecarTemplate } from '@leadsman/injector';
import { injectorConfigShape } from '@leadsman/injector/config';
import { type RunningInjector, startInjector } from '@leadsman/injector/start';
import { createLogger } from '@leadsman/service';
import { Registry } from 'prom-client';
import { parse } from 'yaml';
import { type Cluster, type Manifest, renderChart, until } from './cluster.ts';

export interface InstalledInjector {
  readonly chart: readonly Manifest[];
  readonly registry: Registry;
  /** Ends it and leaves its webhook. */
  stop(): Promise<void>;
  /** Ends it and takes its webhook away. */
  remove(): Promise<void>;
}

/**
 * Installs the chart's objects, but for what needs nodes, and starts the injector. Pods may be
 * created once a dry run of one of `namespace` has shown that the webhook is asked.
 */
export async function installInjector(
  cluster: Cluster,
  release: { name: string; namespace: string },
  values: object,
  probe: Manifest,
): Promise<InstalledInjector> {
  await cluster.namespace(release.namespace);
  const chart = await renderChart(release, values);
  for (const manifest of chart) {
    // Its place is taken by a name that leads to this machine: no node runs the Deployment.
    if (manifest.kind === 'Service' && manifest.metadata.name === 'leadsman-injector') {
      const spec = { type: 'ExternalName', externalName: 'localhost' };
      await cluster.apply({ ...manifest, spec });
    } else if (!/^(Deployment|DaemonSet|StatefulSet)$/.test(manifest.kind)) {
      await cluster.apply(manifest);
    }
  }
  const webhook = chart.find((one) => one.kind === 'MutatingWebhookConfiguration') as Manifest;
  const registry = new Registry();
  const injector = await startAsInstalled(cluster, release.namespace, chart, registry);
  const port = await injector.webhookPort;
  await until(async () => {
    const found = await cluster.get(webhook);
    return found.webhooks.every((one: Manifest) => one.clientConfig.caBundle !== undefined);
  });
  const path = `/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/${webhook.metadata.name}`;
  await cluster.client.json('PATCH', path, {
    contentType: 'application/json-patch+json',
    body: webhook.webhooks.map((_: unknown, i: number) => ({
      op: 'replace',
      path: `/webhooks/${i}/clientConfig/service/port`,
      value: port,
    })),
  });
  await until(async () => sidecarsOf(await cluster.create(probe, { dryRun: true })).length === 1);
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= injector.stop();
    return stopped;
  };
  return {
    chart,
    registry,
    stop,
    async remove() {
      await stop();
      await cluster.remove(webhook);
    },
  };
}

async function startAsInstalled(
  cluster: Cluster,
  namespace: string,
  chart: readonly Manifest[],
  registry: Registry,
): Promise<RunningInjector> {
  const container = chart.find(
    (one) => one.metadata.name === 'leadsman-injector' && one.kind === 'Deployment',
  )?.spec.template.spec.containers[0];
  const setting = (name: string): string =>
    container.env.find((one: { name: string }) => one.name === name).value;
  const map = chart.find((one) => one.kind === 'ConfigMap' && one.data['sidecar.yaml']);
  return startInjector(
    injectorConfigShape.parse({
      sidecarFile: 'from the chart',
      podNamespace: namespace,
      adminHost: '127.0.0.1',
      adminPort: 0,
      webhookHost: '127.0.0.1',
      webhookPort: 0,
      serviceName: setting('LEADSMAN_SERVICE_NAME'),
      secretName: setting('LEADSMAN_SECRET_NAME'),
      webhookName: setting('LEADSMAN_WEBHOOK_NAME'),
    }),
    {
      client: await cluster.as(namespace, 'leadsman-injector'),
      template: readSidecarTemplate(parse(map?.data['sidecar.yaml']), 'chart'),
      logger: createLogger({ name: 'test', level: 'silent' }),
      registry,
      random: Math.random,
      nowMs: Date.now,
      delay: async () => {},
    },
  );
}

// biome-ignore lint/suspicious/noExplicitAny: containers are looked into by path.
export const sidecarsOf = (pod: Manifest): any[] =>
  (pod.spec.initContainers ?? []).filter(
    (container: { name: string }) => container.name === 'leadsman-sidecar',
  );
