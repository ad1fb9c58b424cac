/** Sidecars by webhook and by admission policy, with a real API server admitting the pods. */

import { mutatePod, readSidecarTemplate } from '@leadsman/injector';
import { injectorConfigShape } from '@leadsman/injector/config';
import { type RunningInjector, startInjector } from '@leadsman/injector/start';
import { createLogger } from '@leadsman/service';
import { poolObject } from '@leadsman/testing';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import { Cluster, type Manifest, renderChart, until } from './cluster.ts';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.open(inject('kubeconfig'));
});

afterAll(() => cluster.close());

const modelPod = (namespace: string, name: string, more: Partial<Manifest> = {}): Manifest => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    namespace,
    labels: { app: 'chat', 'leadsman.dev/inject': 'true' },
    annotations: { 'leadsman.dev/port': '8000,8001', 'leadsman.dev/token-file': '/keys/api/key' },
  },
  spec: {
    securityContext: { runAsUser: 0 },
    containers: [
      {
        name: 'engine',
        image: 'vllm',
        ports: [{ containerPort: 9000 }],
        volumeMounts: [{ name: 'keys', mountPath: '/keys' }],
      },
    ],
    volumes: [{ name: 'keys', emptyDir: {} }],
  },
  ...more,
});

// biome-ignore lint/suspicious/noExplicitAny: containers are looked into by path.
const sidecarsOf = (pod: Manifest): any[] =>
  (pod.spec.initContainers ?? []).filter(
    (container: { name: string }) => container.name === 'leadsman-sidecar',
  );

// biome-ignore lint/suspicious/noExplicitAny: the same.
const comparable = (sidecar: any) => ({
  ...sidecar,
  env: Object.fromEntries(
    sidecar.env.map((one: { name: string; value?: string; valueFrom?: unknown }) => [
      one.name,
      one.value ?? one.valueFrom,
    ]),
  ),
});

const values = {
  nats: { url: 'nats://nats:4222', sidecarCredentialsSecret: 'creds' },
  picker: { enabled: false },
};

describe('the webhook', () => {
  let injector: RunningInjector | undefined;
  let webhook: Manifest;
  let chart: Manifest[];

  /** As the chart would run it: its account, its names, its template of sidecars. */
  async function startAsInstalled(port: number): Promise<RunningInjector> {
    const container = chart.find(
      (one) => one.metadata.name === 'leadsman-injector' && one.kind === 'Deployment',
    )?.spec.template.spec.containers[0];
    const setting = (name: string): string =>
      container.env.find((one: { name: string }) => one.name === name).value;
    const map = chart.find((one) => one.kind === 'ConfigMap' && one.data['sidecar.yaml']);
    return startInjector(
      injectorConfigShape.parse({
        sidecarFile: 'from the chart',
        podNamespace: 'leadsman-system',
        adminHost: '127.0.0.1',
        adminPort: 0,
        webhookHost: '127.0.0.1',
        webhookPort: port,
        serviceName: setting('LEADSMAN_SERVICE_NAME'),
        secretName: setting('LEADSMAN_SECRET_NAME'),
        webhookName: setting('LEADSMAN_WEBHOOK_NAME'),
      }),
      {
        client: await cluster.as('leadsman-system', 'leadsman-injector'),
        template: readSidecarTemplate(parse(map?.data['sidecar.yaml']), 'chart'),
        logger: createLogger({ name: 'test', level: 'silent' }),
        registry: new Registry(),
        random: Math.random,
        nowMs: Date.now,
        delay: async () => {},
      },
    );
  }

  beforeAll(async () => {
    await cluster.namespace('leadsman-system');
    await cluster.namespace('hooked', { 'leadsman.dev/inject-pools': 'true' });
    await cluster.namespace('unhooked');
    chart = await renderChart({ name: 'leadsman', namespace: 'leadsman-system' }, values);
    for (const manifest of chart) {
      // Its place is taken by a name that leads to this machine: no node runs the Deployment.
      if (manifest.kind === 'Service' && manifest.metadata.name === 'leadsman-injector') {
        const spec = { type: 'ExternalName', externalName: 'localhost' };
        await cluster.apply({ ...manifest, spec });
      } else if (!/^(Deployment|DaemonSet)$/.test(manifest.kind)) await cluster.apply(manifest);
    }
    webhook = chart.find((one) => one.kind === 'MutatingWebhookConfiguration') as Manifest;
    injector = await startAsInstalled(0);
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
    await until(async () => {
      const pod = modelPod('hooked', 'probe');
      return sidecarsOf(await cluster.create(pod, { dryRun: true })).length === 1;
    });
  });

  afterAll(async () => {
    await injector?.stop();
    await cluster.remove(webhook);
  });

  it('adds one sidecar to a pod that asks for it, with its certificate made by itself', async () => {
    const pod = await cluster.create(modelPod('unhooked', 'chat-0'));
    const [sidecar] = sidecarsOf(pod);
    expect(pod.spec.initContainers).toHaveLength(1);
    expect(comparable(sidecar).env).toMatchObject({
      LEADSMAN_ENGINE_PORTS: '8000,8001',
      LEADSMAN_NATS_URL: 'nats://nats:4222',
      LEADSMAN_TOKEN_FILE: '/keys/api/key',
    });
    expect(sidecar.restartPolicy).toBe('Always');
    expect(sidecar.securityContext.runAsUser).toBe(65_532);
  });

  it('adds it to a pod that a pool selects, in a namespace that opted in, and only there', async () => {
    for (const namespace of ['hooked', 'unhooked']) {
      const pool = poolObject({
        name: 'chat',
        namespace,
        selector: { app: 'pooled' },
        ports: [7000],
      });
      const type = { apiVersion: 'inference.networking.k8s.io/v1', kind: 'InferencePool' };
      await cluster.apply({ ...pool, ...type } as unknown as Manifest);
    }
    const pooled = (namespace: string) =>
      modelPod(namespace, 'pooled', {
        metadata: { name: 'pooled', namespace, labels: { app: 'pooled' } },
      });
    await until(async () => {
      const pod = await cluster.create(pooled('hooked'), { dryRun: true });
      return comparable(sidecarsOf(pod)[0] ?? { env: [] }).env.LEADSMAN_ENGINE_PORTS === '7000';
    });
    expect(sidecarsOf(await cluster.create(pooled('unhooked')))).toEqual([]);
  });

  it('leaves host-network pods, pods that refuse, and system namespaces alone', async () => {
    const host = modelPod('hooked', 'host');
    host.spec.hostNetwork = true;
    host.spec.containers[0].ports = [];
    expect(sidecarsOf(await cluster.create(host))).toEqual([]);
    const labels = { app: 'pooled', 'leadsman.dev/inject': 'false' };
    const refusing = modelPod('hooked', 'refusing', {
      metadata: { name: 'refusing', namespace: 'hooked', labels },
    });
    expect(sidecarsOf(await cluster.create(refusing))).toEqual([]);
    expect(sidecarsOf(await cluster.create(modelPod('kube-system', 'system')))).toEqual([]);
    expect(sidecarsOf(await cluster.create(modelPod('leadsman-system', 'own')))).toEqual([]);
  }); // C45

  it('that is down holds no pod up: neither its own, nor the system’s, nor a model’s', async () => {
    await injector?.stop();
    const own = chart.find(
      (one) => one.metadata.name === 'leadsman-injector' && one.kind === 'Deployment',
    );
    const template = own?.spec.template;
    await cluster.create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'injector-0',
        namespace: 'leadsman-system',
        labels: template.metadata.labels,
      },
      spec: template.spec,
    });
    await cluster.create(modelPod('kube-system', 'while-down'));
    const model = await cluster.create(modelPod('hooked', 'while-down'));
    expect(sidecarsOf(model)).toEqual([]);
    injector = undefined;
  }); // C42
});

describe('the admission policy', () => {
  it('adds what the webhook’s template would, without a webhook', async () => {
    await cluster.namespace('policy-system');
    await cluster.namespace('policed');
    const release = { name: 'leadsman', namespace: 'policy-system' };
    const policy = { ...values, injector: { mode: 'policy' } };
    const installed = (await renderChart(release, policy)).filter((one) =>
      one.kind.startsWith('MutatingAdmissionPolicy'),
    );
    for (const manifest of installed) await cluster.apply(manifest);
    try {
      await until(async () => {
        const probe = await cluster.create(modelPod('policed', 'probe'), { dryRun: true });
        return sidecarsOf(probe).length === 1;
      });
      const byPolicy = await cluster.create(modelPod('policed', 'chat-0'));
      const map = (await renderChart(release, values)).find(
        (one) => one.kind === 'ConfigMap' && one.data['sidecar.yaml'],
      );
      const template = readSidecarTemplate(parse(map?.data['sidecar.yaml']), 'chart');
      const { metadata: asked, ...rest } = modelPod('policed', 'by-hand');
      const { labels: _, ...metadataByHand } = asked;
      const input = { ...rest, metadata: metadataByHand };
      const mutated = mutatePod(input, { template }).pod as unknown as Manifest;
      const byHand = await cluster.create(mutated);
      expect(comparable(sidecarsOf(byPolicy)[0])).toEqual(comparable(sidecarsOf(byHand)[0]));
      expect(byPolicy.spec.volumes).toEqual(byHand.spec.volumes);
      expect(byPolicy.metadata.annotations).toEqual(byHand.metadata.annotations);

      const bare = {
        apiVersion: 'v1',
        kind: 'Pod',
        spec: { containers: [{ name: 'e', image: 'i' }] },
      };
      const labels = { 'leadsman.dev/inject': 'true' };
      const metadata = { name: 'bare', namespace: 'policed', labels };
      expect(sidecarsOf(await cluster.create({ ...bare, metadata }))).toHaveLength(1);
      const host = modelPod('policed', 'host');
      host.spec.hostNetwork = true;
      host.spec.containers[0].ports = [];
      expect(sidecarsOf(await cluster.create(host))).toEqual([]);
      const again = modelPod('policed', 'again');
      again.spec.initContainers = [{ name: 'leadsman-sidecar', image: 'mine' }];
      expect((await cluster.create(again)).spec.initContainers).toHaveLength(1);
    } finally {
      for (const manifest of installed) await cluster.remove(manifest);
    }
  });
});
