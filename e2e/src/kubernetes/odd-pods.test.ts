/** No pod that the API server takes is refused because of its sidecar, whichever way that comes. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { Cluster, type Manifest, renderChart, until } from './cluster.ts';
import { type InstalledInjector, installInjector, sidecarsOf } from './installed-injector.ts';
import { type OddPod, oddPods } from './odd-pods.ts';

const values = {
  nats: { url: 'nats://nats:4222', sidecarCredentialsSecret: 'creds' },
  picker: { enabled: false },
};
const release = { name: 'leadsman', namespace: 'odd-system' };
let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.open(inject('kubeconfig'));
});

afterAll(() => cluster.close());

const manifestOf = (odd: OddPod, namespace: string, asks = true): Manifest => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'odd',
    namespace,
    labels: { ...(asks ? { 'leadsman.dev/inject': 'true' } : {}), ...odd.labels },
    annotations: odd.annotations ?? {},
  },
  spec: odd.spec,
});
const probe = (namespace: string) =>
  manifestOf(oddPods.find(({ outcome }) => outcome === 'injected') as OddPod, namespace);

/** Created for real validation, and not kept. */
const admitted = (odd: OddPod, namespace: string, asks = true) =>
  cluster.create(manifestOf(odd, namespace, asks), { dryRun: true });

async function expectAdmitted(odd: OddPod, namespace: string): Promise<void> {
  // Without a sidecar it is valid: else the row would say nothing.
  const alone = await admitted(odd, namespace, false);
  expect(sidecarsOf(alone).filter(({ image }) => image !== 'mine')).toEqual([]);
  const pod = await admitted(odd, namespace);
  const added = sidecarsOf(pod).filter(({ image }) => image !== 'mine');
  expect(added).toHaveLength(odd.outcome === 'injected' ? 1 : 0);
  expect(pod.spec.containers).toEqual(alone.spec.containers);
  const { labels } = pod.metadata as unknown as { labels: Record<string, string> };
  expect(labels['leadsman.dev/sidecar']).toBe(odd.outcome === 'injected' ? 'true' : undefined);
  expect(pod.status.qosClass).toBe(
    odd.outcome === 'injected' ? qosWith(alone) : alone.status.qosClass,
  );
  for (const mount of added[0]?.volumeMounts ?? []) {
    expect(
      Object.keys(mount).filter((key) => !/^(name|mountPath|readOnly|subPath)$/.test(key)),
    ).toEqual([]);
    expect(mount.mountPath).toMatch(/^\/var\/run\/(leadsman|secrets)\//);
  }
}

/** A pod without any bounds becomes Burstable by a container with some; the others stay. */
const qosWith = (alone: Manifest): string =>
  alone.status.qosClass === 'BestEffort' ? 'Burstable' : alone.status.qosClass;

it('there are at least forty of them, each with a name of its own', () => {
  expect(oddPods.length).toBeGreaterThanOrEqual(40);
  expect(new Set(oddPods.map(({ what }) => what)).size).toBe(oddPods.length);
});

describe('the webhook takes a pod', () => {
  let installed: InstalledInjector;

  beforeAll(async () => {
    await cluster.namespace('odd');
    installed = await installInjector(cluster, release, values, probe('odd'));
  });

  afterAll(() => installed.remove());

  it.each(oddPods.map((odd) => [odd.what, odd] as const))('%s', (_, odd) =>
    expectAdmitted(odd, 'odd'),
  );

  it('in a namespace whose quota demands every bound', async () => {
    await cluster.namespace('odd-quota');
    const hard = Object.fromEntries(
      ['requests', 'limits'].flatMap((side) =>
        ['cpu', 'memory', 'ephemeral-storage'].map((name) => [`${side}.${name}`, '1000Gi']),
      ),
    );
    const quota = {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'all', namespace: 'odd-quota' },
    };
    await cluster.apply({ ...quota, spec: { hard } });
    // What its controller would do.
    await cluster.client.json('PATCH', '/api/v1/namespaces/odd-quota/resourcequotas/all/status', {
      contentType: 'application/merge-patch+json',
      body: {
        status: { hard, used: Object.fromEntries(Object.keys(hard).map((name) => [name, '0'])) },
      },
    });
    const limits = { cpu: '4', memory: '16Gi', 'ephemeral-storage': '1Gi' };
    const bound = (resources: object): OddPod => ({
      what: '',
      outcome: 'injected',
      spec: { containers: [{ name: 'engine', image: 'vllm', resources }] },
    });
    const { cpu: _, ...without } = limits;
    await until(async () =>
      (
        await admitted(bound({ limits: without }), 'odd-quota', false).catch(
          (error: Error) => error.message,
        )
      )
        .toString()
        .includes('must specify'),
    );
    await expectAdmitted(bound({ limits }), 'odd-quota');
    await expectAdmitted(bound({ limits, requests: { ...limits, cpu: '1' } }), 'odd-quota');
  });

  it('in a namespace of the restricted standard', async () => {
    await cluster.namespace('odd-restricted', {
      'pod-security.kubernetes.io/enforce': 'restricted',
    });
    const securityContext = {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    };
    await expectAdmitted(
      {
        what: '',
        outcome: 'injected',
        spec: { containers: [{ name: 'e', image: 'i', securityContext }] },
      },
      'odd-restricted',
    );
  });
});

describe('the admission policy takes a pod', () => {
  let installed: Manifest[] = [];

  beforeAll(async () => {
    await cluster.namespace('odd-policed');
    const rendered = await renderChart(release, { ...values, injector: { mode: 'policy' } });
    installed = rendered.filter((one) => one.kind.startsWith('MutatingAdmissionPolicy'));
    for (const manifest of installed) await cluster.apply(manifest);
    await until(
      async () =>
        sidecarsOf(await cluster.create(probe('odd-policed'), { dryRun: true })).length === 1,
    );
  });

  afterAll(async () => {
    for (const manifest of installed) await cluster.remove(manifest);
  });

  it.each(oddPods.map((odd) => [odd.what, odd] as const))('%s', (_, odd) =>
    expectAdmitted(odd, 'odd-policed'),
  );
});
