/** Sidecars by webhook and by admission policy, with a real API server admitting the pods. */

import { mutatePod, readSidecarTemplate } from '@leadsman/injector';
import { poolObject } from '@leadsman/testing';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import { Cluster, type Manifest, renderChart, until } from './cluster.ts';
import { type InstalledInjector, installInjector, sidecarsOf } from './installed-injector.ts';

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
  let installed: InstalledInjector;

  beforeAll(async () => {
    await cluster.namespace('hooked', { 'leadsman.dev/inject-pools': 'true' });
    await cluster.namespace('unhooked');
    const release = { name: 'leadsman', namespace: 'leadsman-system' };
    installed = await installInjector(cluster, release, values, modelPod('hooked', 'probe'));
  });

  afterAll(() => installed.remove());

  /** How many reviews ended how. */
  async function reviewed(): Promise<Record<string, number>> {
    const counter = installed.registry.getSingleMetric('leadsman_injector_reviews_total');
    const { values: counts = [] } = (await counter?.get()) ?? {};
    return Object.fromEntries(counts.map(({ labels, value }) => [labels.outcome, value]));
  }

  it('adds one sidecar to a pod that asks for it, with its certificate made by itself', async () => {
    const pod = await cluster.create(modelPod('unhooked', 'chat-0'));
    const [sidecar] = sidecarsOf(pod);
    expect(pod.spec.initContainers).toHaveLength(1);
    expect(comparable(sidecar).env).toMatchObject({
      LEADSMAN_ENGINE_PORTS: '8000,8001',
      LEADSMAN_NATS_URL: 'nats://nats:4222',
      LEADSMAN_TOKEN_FILE: '/var/run/leadsman/token/api/key',
    });
    expect(sidecar.restartPolicy).toBe('Always');
    expect(sidecar.securityContext.runAsUser).toBe(65_532);
  });

  it('adds nothing twice and undoes nothing when it is asked again after another tool', async () => {
    await cluster.namespace('other-tool', { tool: 'other' });
    // It adds an init container, and gives every sidecar it finds a user of its choice.
    const name = 'other-tool';
    const policy = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingAdmissionPolicy',
      metadata: { name },
      spec: {
        failurePolicy: 'Fail',
        reinvocationPolicy: 'IfNeeded',
        matchConstraints: {
          namespaceSelector: { matchLabels: { tool: 'other' } },
          resourceRules: [
            { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
          ],
        },
        mutations: [
          {
            patchType: 'JSONPatch',
            jsonPatch: {
              expression: `!has(object.spec.initContainers)
                ? [JSONPatch{op: "add", path: "/spec/initContainers", value: [
                    Object.spec.initContainers{name: "mesh", image: "mesh"}]}]
                : size(object.spec.initContainers) > 1
                ? [JSONPatch{op: "add", path: "/spec/initContainers/1/securityContext/runAsUser",
                    value: 1234}]
                : []`,
            },
          },
        ],
      },
    };
    const binding = {
      apiVersion: policy.apiVersion,
      kind: 'MutatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name },
    };
    for (const manifest of [policy, binding]) await cluster.apply(manifest);
    try {
      const ask = () => cluster.create(modelPod('other-tool', 'chat-0'), { dryRun: true });
      await until(async () => (await ask()).spec.initContainers[0].name === 'mesh');
      const before = await reviewed();
      const pod = await ask();
      expect(await reviewed()).toEqual({
        ...before,
        injected: (before.injected ?? 0) + 1,
        present: (before.present ?? 0) + 1,
      });
      const names = pod.spec.initContainers.map((one: { name: string }) => one.name);
      expect(names).toEqual(['mesh', 'leadsman-sidecar']);
      expect(sidecarsOf(pod)[0].securityContext.runAsUser).toBe(1_234);
      const volumes = pod.spec.volumes.filter((one: { name: string }) => /leadsman/.test(one.name));
      expect(volumes).toHaveLength(1);
    } finally {
      for (const manifest of [binding, policy]) await cluster.remove(manifest);
    }
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
  });

  it('that is down holds no pod up: neither its own, nor the system’s, nor a model’s', async () => {
    await installed.stop();
    const own = installed.chart.find(
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
  });
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
