import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import {
  Cluster,
  lintChart,
  type Manifest,
  manifestsOf,
  renderChart,
  statusOf,
} from './cluster.ts';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.open(inject('kubeconfig'));
});

afterAll(() => cluster.close());

/** Values that turn every part of the chart on in some combination. */
const variants: Record<string, object> = {
  'the defaults': {},
  'an external NATS with credentials': {
    nats: {
      url: 'tls://nats.messaging.svc:4222',
      credentialsSecret: 'nats',
      sidecarCredentialsSecret: 'nats-sidecar',
      tlsCaSecret: 'nats-ca',
    },
    exporter: { mode: 'node' },
  },
  'a NATS of its own': { nats: { enabled: true }, collector: { enabled: true } },
  'three NATS servers with TLS': {
    nats: {
      enabled: true,
      server: { replicas: 3, tls: { secretName: 'nats-tls' }, passwordSecrets: { sender: 'mine' } },
    },
    injector: { mode: 'policy' },
  },
  'agents that scrape': { exporter: { mode: 'agent-scrape' } },
  'a collector between senders and pickers': {
    collector: { enabled: true, endpointMetrics: true },
    picker: { autoscaling: { enabled: true } },
  },
  'every extra': {
    picker: {
      config: { default: { strategy: 'least-load' }, extensions: [{ module: './zone.mjs' }] },
      extensions: { 'zone.mjs': 'export default {};\n\nconst a = 1;\n' },
      tls: { secretName: 'picker-tls' },
      namespaces: ['*'],
      services: ['other/picker', 'picker-of-code'],
      inferenceClass: 'fast',
      priorityClassName: 'system-cluster-critical',
      nodeSelector: { pool: 'system' },
      env: { LEADSMAN_STALE_AFTER_MS: 1500 },
    },
    collector: { enabled: true, tolerations: [{ operator: 'Exists' }] },
    agent: { expose: 'service', scrape: { selector: 'app=vllm' } },
    injector: {
      certificate: {
        source: 'certManager',
        certManager: { issuerRef: { kind: 'ClusterIssuer', name: 'internal' } },
      },
      excludedNamespaces: ['build'],
    },
    podMonitor: { enabled: true, sidecars: true, labels: { release: 'prometheus' } },
    dashboards: { enabled: true },
    alerts: { enabled: true, labels: { release: 'prometheus' } },
    networkPolicy: { from: [{ namespaceSelector: {} }] },
    imagePullSecrets: [{ name: 'registry' }],
    sidecar: { runAsUser: null, env: { LEADSMAN_SCRAPE_INTERVAL_MS: 100 } },
  },
  'pickers of several namespaces': { picker: { namespaces: ['chart-a', 'chart-b'] } },
  'an admission policy': { injector: { mode: 'policy' }, sidecar: { runAsUser: null } },
  'the parts for a cluster without pickers': {
    picker: { enabled: false },
    nats: { url: 'nats://nats:4222' },
  },
  'a picker alone': { agent: { enabled: false }, injector: { enabled: false } },
};

async function applyAll(manifests: readonly Manifest[], namespace: string): Promise<void> {
  for (const manifest of manifests) {
    const target = manifest.metadata.namespace ?? namespace;
    await cluster.namespace(target);
    // What changes the pods of all namespaces is only checked: other tests have pods, too.
    const dryRun = /^Mutating/.test(manifest.kind);
    await cluster
      .apply({ ...manifest, metadata: { ...manifest.metadata, namespace: target } }, { dryRun })
      .catch((error: Error) => {
        throw new Error(`${manifest.kind} ${manifest.metadata.name}: ${error.message}`);
      });
  }
}

describe('the chart', () => {
  it.each(Object.entries(variants))(
    'with %s is linted and accepted as it is',
    async (_, values) => {
      await lintChart(values);
      const manifests = await renderChart({ name: 'leadsman', namespace: 'chart' }, values);
      expect(manifests.length).toBeGreaterThan(5);
      await applyAll(manifests, 'chart');
    },
  );

  it.each<[string, object, RegExp]>([
    ['a misspelt value', { picker: { replica: 3 } }, /replica/],
    ['a timeout that would hold pods up', { injector: { timeoutSeconds: 10 } }, /timeoutSeconds/],
    ['an unknown exporter mode', { exporter: { mode: 'both' } }, /mode/],
    ['a variable that is not ours', { sidecar: { env: { PATH: '/' } } }, /PATH/],
    ['nowhere to send reports to', { picker: { enabled: false } }, /nowhere to go/],
    ['a misspelt value of NATS', { nats: { urls: 'nats://nats:4222' } }, /urls/],
    ['an image digest that is none', { image: { digest: 'latest' } }, /digest/],
    ['a drain that no picker takes', { picker: { drainSeconds: 3_600 } }, /drainSeconds/],
    ['modules that nothing names', { picker: { extensions: { 'a.mjs': '' } } }, /picker.config/],
    [
      'cert-manager without an issuer',
      { injector: { certificate: { source: 'certManager' } } },
      /issuerRef/,
    ],
    ['a NATS of two servers', { nats: { enabled: true, server: { replicas: 2 } } }, /replicas/],
    ['a user without a password', { nats: { url: 'nats://nats:4222', user: 'a' } }, /nats.user/],
    ['two NATS', { nats: { enabled: true, url: 'nats://nats:4222' } }, /exclude each other/],
    [
      'reports for an agent that is not there',
      { exporter: { mode: 'node' }, agent: { enabled: false } },
      /agent.enabled=false/,
    ],
    [
      'nobody who scrapes',
      { exporter: { mode: 'agent-scrape' }, agent: { scrape: { enabled: false } } },
      /agent.scrape.enabled/,
    ],
    [
      'numbers that are stale between two scrapes',
      { picker: { env: { LEADSMAN_STALE_AFTER_MS: 200 } } },
      /STALE_AFTER_MS is 200.*every 250 ms/,
    ],
    [
      'the same of the collector, by a slower scrape',
      {
        sidecar: { env: { LEADSMAN_IDLE_INTERVAL_MS: '1000' } },
        collector: { env: { LEADSMAN_STALE_AFTER_MS: '500' } },
      },
      /collector.env.*every 1000 ms/,
    ],
    [
      'the same in the strategy file',
      { picker: { config: { pools: { chat: { staleAfterMs: 100 } } } } },
      /pools.chat.staleAfterMs is 100/,
    ],
    [
      'endpoints that leave before they are stale',
      { picker: { env: { LEADSMAN_EXPIRE_AFTER_MS: 1_500 } } },
      /EXPIRE_AFTER_MS is 1500/,
    ],
    [
      'a drain shorter than the gateway’s',
      { picker: { drainSeconds: 30, gatewayDrainSeconds: 60 } },
      /drainSeconds is 30, below/,
    ],
    [
      'fewer replicas at most than at least',
      { picker: { autoscaling: { enabled: true, minReplicas: 4, maxReplicas: 2 } } },
      /minReplicas/,
    ],
    [
      'probes at a loopback address',
      { picker: { listen: { admin: '127.0.0.1' } } },
      /listen.admin/,
    ],
    ['an address that is none', { collector: { listen: { grpc: 'localhost' } } }, /listen.grpc/],
    [
      'devices for sidecars',
      { sidecar: { resources: { limits: { 'nvidia.com/gpu': '1' } } } },
      /nvidia/,
    ],
  ])('refuses %s', async (_, values, message) => {
    const rendered = renderChart({ name: 'leadsman', namespace: 'chart' }, values);
    // The schema's messages have slashes between the parts of a path.
    await expect(
      rendered.catch((error: Error) => error.message.replaceAll('/', '.')),
    ).resolves.toMatch(message);
  });

  it('makes only pods that the restricted standard admits, host ports aside', async () => {
    const levels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await cluster.namespace('restricted', levels);
    const values = {
      collector: { enabled: true },
      agent: { expose: 'service' },
      nats: { enabled: true },
    };
    const manifests = await renderChart({ name: 'leadsman', namespace: 'restricted' }, values);
    const owners = manifests.filter((manifest) => manifest.spec?.template?.spec !== undefined);
    expect(owners.map((owner) => owner.metadata.name).sort()).toEqual([
      'leadsman-agent',
      'leadsman-collector',
      'leadsman-injector',
      'leadsman-nats',
      'leadsman-picker',
    ]);
    for (const { metadata, spec } of owners) {
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: metadata.name, namespace: 'restricted' },
        spec: { ...spec.template.spec, priorityClassName: undefined },
      };
      await cluster.create(pod, { dryRun: true });
    }
    const hostPort = await renderChart({ name: 'leadsman', namespace: 'restricted' });
    const agent = hostPort.find((manifest) => manifest.kind === 'DaemonSet');
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'agent', namespace: 'restricted' },
      spec: agent?.spec.template.spec,
    };
    expect(await statusOf(cluster.create(pod, { dryRun: true }))).toBe(403);
  });

  it('needs nothing fetched: the chart has no dependencies', async () => {
    const file = new URL('../../../deploy/helm/leadsman/Chart.yaml', import.meta.url);
    const chart = parse(await readFile(fileURLToPath(file), 'utf8'));
    expect(chart.name).toBe('leadsman');
    expect(chart.dependencies).toBeUndefined();
  });

  it('puts every process out of reach of its own webhook', async () => {
    const manifests = await renderChart({ name: 'leadsman', namespace: 'chart' });
    for (const { spec } of manifests.filter((manifest) => manifest.spec?.template?.spec)) {
      expect(spec.template.metadata.labels['leadsman.dev/inject']).toBe('false');
    }
  });
});

describe('the example for', () => {
  const examples = new URL('../../../deploy/examples/', import.meta.url);

  it.each(['envoy-ai-gateway', 'envoy-gateway', 'istio', 'kgateway'])(
    '%s is accepted whole, and its pool names the picker of the release',
    async (name) => {
      const folder = new URL(`${name}/`, examples);
      const text = await readFile(fileURLToPath(new URL('manifests.yaml', folder)), 'utf8');
      const values = await readFile(fileURLToPath(new URL('values.yaml', folder)), 'utf8').then(
        (found) => parse(found) as object,
        () => ({}),
      );
      const manifests = manifestsOf(text);
      await applyAll(manifests, 'models');
      const pool = manifests.find((manifest) => manifest.kind === 'InferencePool');
      const chart = await renderChart({ name: 'leadsman', namespace: 'models' }, values);
      const services = chart
        .filter((manifest) => manifest.kind === 'Service')
        .map((service) => service.metadata.name);
      expect(services).toContain(pool?.spec.endpointPickerRef.name);
      await applyAll(chart, 'models');
    },
  );
});
