/** What the chart owes whoever keeps the cluster: looked for in what it renders. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { mutatePod, readSidecarTemplate } from '@leadsman/injector';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Manifest, renderChart } from './cluster.ts';

describe('what a cluster’s keeper looks for', () => {
  const release = { name: 'leadsman', namespace: 'chart' };
  const whole = { collector: { enabled: true }, picker: { services: ['picker-of-code'] } };
  const ownersOf = (manifests: readonly Manifest[]) =>
    manifests.filter((manifest) => manifest.spec?.template?.spec !== undefined);
  const componentOf = (labels: Record<string, string>) => labels['app.kubernetes.io/component'];

  it('is there for each process: probes, bounds, no privileges, no Service variables', async () => {
    const owners = ownersOf(await renderChart(release, whole));
    expect(owners).toHaveLength(4);
    for (const { spec, metadata } of owners) {
      const pod = spec.template.spec;
      expect(pod, metadata.name).toMatchObject({
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      });
      for (const container of pod.containers) {
        expect(container, metadata.name).toMatchObject({
          livenessProbe: { httpGet: { path: '/healthz' } },
          readinessProbe: { httpGet: { path: '/readyz' } },
          resources: {
            requests: { cpu: expect.anything(), memory: expect.anything() },
            limits: { memory: expect.anything() },
          },
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
          terminationMessagePolicy: 'FallbackToLogsOnError',
        });
      }
    }
  });

  it('is there for what has replicas: a disruption budget, and different nodes', async () => {
    const manifests = await renderChart(release, whole);
    const budgets = manifests.filter((manifest) => manifest.kind === 'PodDisruptionBudget');
    for (const { kind, metadata, spec } of ownersOf(manifests)) {
      if (kind !== 'Deployment') continue;
      const own = budgets.filter((budget) => budget.metadata.name === metadata.name);
      expect(own.map((budget) => budget.spec.selector)).toEqual([spec.selector]);
      const spread = spec.template.spec.topologySpreadConstraints;
      expect(spread[0], metadata.name).toMatchObject({
        topologyKey: 'kubernetes.io/hostname',
        labelSelector: spec.selector,
      });
    }
  });

  it('lets in every port that is served, and no other', async () => {
    for (const values of [
      whole,
      {},
      { nats: { url: 'nats://nats:4222' } },
      { nats: { enabled: true, server: { replicas: 3 } } },
    ]) {
      const manifests = await renderChart(release, values);
      for (const { metadata, spec } of ownersOf(manifests)) {
        const policy = manifests.find(
          (one) => one.kind === 'NetworkPolicy' && one.metadata.name === metadata.name,
        );
        expect(policy?.spec.podSelector, metadata.name).toEqual(spec.selector);
        const rules: { ports: { port: number }[] }[] = policy?.spec.ingress ?? [];
        const open = rules.flatMap((rule) => rule.ports);
        const served = spec.template.spec.containers[0].ports as { containerPort: number }[];
        expect(open.map(({ port }) => port).sort(), metadata.name).toEqual(
          served.map(({ containerPort }) => containerPort).sort(),
        );
      }
    }
  });

  it('lets in numbers only from what it installed, and picks from whom the values say', async () => {
    const from = [{ ipBlock: { cidr: '10.0.0.0/8' } }];
    const senders = [{ podSelector: { matchLabels: { app: 'exporter' } } }];
    for (const [name, port, values] of [
      ['leadsman-picker', 9421, {}],
      ['leadsman-collector', 9421, { collector: { enabled: true } }],
      ['leadsman-nats', 4222, { nats: { enabled: true } }],
    ] as const) {
      const manifests = await renderChart(release, { ...values, networkPolicy: { from, senders } });
      const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy');
      const rules: { ports: { port: number }[]; from?: object[] }[] =
        policies.find(({ metadata }) => metadata.name === name)?.spec.ingress ?? [];
      const fed = rules.filter(({ ports }) => ports.some((one) => one.port === port));
      expect(fed, name).toMatchObject([
        {
          from: [
            { podSelector: { matchLabels: { 'app.kubernetes.io/name': 'leadsman' } } },
            { podSelector: { matchLabels: { 'leadsman.dev/sidecar': 'true' } } },
            ...senders,
          ],
        },
      ]);
      const picker = policies.find(({ metadata }) => metadata.name === 'leadsman-picker');
      expect(picker?.spec.ingress[0].from).toEqual(from);
    }
  });

  it('knows every sender by the labels that the policies ask for', async () => {
    const manifests = await renderChart(release, whole);
    const senders = ownersOf(manifests).filter(({ metadata }) => !/injector/.test(metadata.name));
    expect(senders).toHaveLength(3);
    for (const { spec } of senders) {
      const { labels } = spec.template.metadata;
      expect(labels['app.kubernetes.io/name']).toBe('leadsman');
      expect(['agent', 'collector', 'picker']).toContain(componentOf(labels));
    }
    const template = manifests.find((one) => one.data?.['sidecar.yaml'])?.data['sidecar.yaml'];
    const pod = { spec: { containers: [{ name: 'engine' }] } };
    const injected = mutatePod(pod, { template: readSidecarTemplate(parse(template), 'chart') });
    expect(injected.pod.metadata?.labels).toEqual({ 'leadsman.dev/sidecar': 'true' });
  });

  it('binds sidecars to the loopback address unless Prometheus asks them', async () => {
    const hostOf = async (values: object) => {
      const manifests = await renderChart(release, values);
      const text = manifests.find((one) => one.data?.['sidecar.yaml'])?.data['sidecar.yaml'];
      return readSidecarTemplate(parse(text), 'chart').env.LEADSMAN_ADMIN_HOST;
    };
    expect(await hostOf({})).toBe('127.0.0.1');
    expect(await hostOf({ podMonitor: { enabled: true, sidecars: true } })).toBe('0.0.0.0');
    expect(await hostOf({ sidecar: { listen: { admin: '::' } } })).toBe('::');
  });

  it('lets the agents scrape where no sidecars are wanted, and injects none', async () => {
    const manifests = await renderChart(release, {
      exporter: { mode: 'agent-scrape' },
      agent: { scrape: { selector: 'app=vllm', port: 8080 } },
    });
    expect(manifests.filter(({ metadata }) => /injector/.test(metadata.name))).toEqual([]);
    const agent = manifests.find(({ kind }) => kind === 'DaemonSet') as Manifest;
    const { env } = agent.spec.template.spec.containers[0];
    for (const [name, value] of [
      ['LEADSMAN_SCRAPE_PODS', 'true'],
      ['LEADSMAN_SCRAPE_SELECTOR', 'app=vllm'],
      ['LEADSMAN_SCRAPE_PORT', '8080'],
    ]) {
      expect(env).toContainEqual({ name, value });
    }
    // Those that are there, or are written by hand, hand over to the agent.
    const text = manifests.find((one) => one.data?.['sidecar.yaml'])?.data['sidecar.yaml'];
    expect(readSidecarTemplate(parse(text), 'chart').env.LEADSMAN_EXPORTER_MODE).toBe('auto');
  });

  it('can be upgraded: selectors hold nothing that changes with a version or a value', async () => {
    for (const { spec, metadata } of ownersOf(await renderChart(release, whole))) {
      expect(spec.selector.matchLabels, metadata.name).toEqual({
        'app.kubernetes.io/name': 'leadsman',
        'app.kubernetes.io/instance': 'leadsman',
        'app.kubernetes.io/component': componentOf(metadata.labels as Record<string, string>),
      });
    }
  });

  it('can go to cert-manager and back: each keeps its certificate in a Secret of its own', async () => {
    const self = await renderChart(release);
    const source = { source: 'certManager', certManager: { issuerRef: { name: 'internal' } } };
    const other = await renderChart(release, { injector: { certificate: source } });
    const made = other.find((one) => one.kind === 'Certificate')?.spec.secretName;
    const kept = self.find((one) => one.kind === 'Secret')?.metadata.name;
    expect(made).not.toBe(kept);
    const pod = other.find(
      (one) => one.metadata.name === 'leadsman-injector' && one.spec?.template,
    );
    expect(pod?.spec.template.spec.volumes).toContainEqual({
      name: 'tls',
      secret: { secretName: made },
    });
  });

  it('gives each variable once, and the one of the values wins', async () => {
    const env = { LEADSMAN_LOG_LEVEL: 'debug', LEADSMAN_STALE_AFTER_MS: 1500 };
    const own = { env: { LEADSMAN_LOG_LEVEL: 'debug' } };
    const manifests = await renderChart(release, {
      picker: { env },
      collector: { enabled: true, ...own },
      agent: own,
      sidecar: own,
    });
    for (const { spec, metadata } of ownersOf(manifests)) {
      const list = spec.template.spec.containers[0].env as { name: string; value?: string }[];
      expect(new Set(list.map(({ name }) => name)).size, metadata.name).toBe(list.length);
      if (metadata.name === 'leadsman-injector') continue;
      expect(list).toContainEqual({ name: 'LEADSMAN_LOG_LEVEL', value: 'debug' });
    }
    const template = manifests.find((one) => one.data?.['sidecar.yaml'])?.data['sidecar.yaml'];
    // Throws on a name that is there twice.
    expect(parse(template as string).env.LEADSMAN_LOG_LEVEL).toBe('debug');
  });

  it('ends a picker no sooner than its exchanges', async () => {
    const manifests = await renderChart(release, { picker: { drainSeconds: 120 } });
    const pod = manifests.find(
      (one) => one.kind === 'Deployment' && /picker/.test(one.metadata.name),
    )?.spec.template.spec;
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(122);
    expect(pod.containers[0].env).toContainEqual({
      name: 'LEADSMAN_DRAIN_GRACE_MS',
      value: '120000',
    });
  });

  it('tells `leadsman inject` how sidecars look, also where nothing is injected', async () => {
    for (const injector of [{ enabled: false }, { mode: 'policy' }]) {
      const manifests = await renderChart(release, { injector });
      const text = manifests.find((one) => one.metadata.name === 'leadsman-sidecar')?.data;
      const template = readSidecarTemplate(parse(text?.['sidecar.yaml']), 'chart');
      expect(template.env.LEADSMAN_COLLECTOR_URL).toMatch(/^grpc:/);
    }
  });

  it('gives the NATS that it installs the limits and users of deploy/nats', async () => {
    const read = (file: string) =>
      readFile(fileURLToPath(new URL(`../../../deploy/nats/${file}`, import.meta.url)), 'utf8');
    const limits = (await read('limits.conf')).match(/^\w+: .*$/gm) ?? [];
    const users = (await read('nats.conf')).match(/user: \w+|^ +permissions.*$/gm) ?? [];
    expect(limits.length).toBeGreaterThan(5);
    expect(users).toHaveLength(6);
    const manifests = await renderChart(release, { nats: { enabled: true } });
    const text: string = manifests.find((one) => one.data?.['nats.conf'])?.data['nats.conf'];
    for (const line of [...limits, ...users]) expect(text).toContain(line.trim());
  });

  it('names images by digest where one is given', async () => {
    const digest = `sha256:${'0a'.repeat(32)}`;
    const image = { repository: 'registry/leadsman', digest };
    const manifests = await renderChart(release, { ...whole, image });
    const images = ownersOf(manifests).map(({ spec }) => spec.template.spec.containers[0].image);
    expect(new Set(images)).toEqual(new Set([`registry/leadsman:0.1.0@${digest}`]));
  });
});
