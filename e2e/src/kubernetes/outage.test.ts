/** An API server that goes away and comes back without its history, as at an upgrade. */
import { KubeClient, kubeconfigAccess } from '@leadsman/kube';
import { KubernetesMembership } from '@leadsman/picker';
import { createLogger } from '@leadsman/service';
import { launchRealApiServer, poolObject, type RealApiServer } from '@leadsman/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Cluster, type Manifest, until } from './cluster.ts';
import { crdFixtures } from './crd-fixtures.ts';

let server: RealApiServer;
let cluster: Cluster;

beforeAll(async () => {
  const { LEADSMAN_TEST_API_SERVER: apiServer = '', LEADSMAN_TEST_ETCD: etcd = '' } = process.env;
  server = await launchRealApiServer({ apiServer, etcd });
  cluster = await Cluster.open(server.kubeconfig());
  const pools = crdFixtures.find((crd) => crd.spec.names.kind === 'InferencePool');
  await cluster.apply(pools as Manifest);
});

afterAll(async () => {
  cluster?.close();
  await server?.stop();
});

async function readyPod(name: string, ip: string): Promise<void> {
  await cluster.create({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { app: 'chat' } },
    spec: { nodeName: 'node-1', containers: [{ name: 'engine', image: 'engine' }] },
  });
  await cluster.reportPod('default', name, { ip, ready: true });
}

it('members outlive an outage, and what changed right after it is seen', async () => {
  const membership = new KubernetesMembership({
    client: new KubeClient(await kubeconfigAccess({ text: server.kubeconfig() })),
    namespaces: ['default'],
    claim: { services: ['picker'], inferenceClass: '', isDefaultClass: false },
    logger: createLogger({ name: 'test', level: 'silent' }),
    random: Math.random,
  });
  let endpoints: string | undefined;
  membership.start({
    poolChanged: ({ members }) => {
      endpoints = members
        .map((member) => member.address)
        .sort()
        .join();
    },
    poolRemoved: () => {
      endpoints = undefined;
    },
  });
  try {
    await until(() => !/not_found/.test(membership.notSynced() ?? ''), 60_000);
    const pool = poolObject({ name: 'chat', picker: 'picker', selector: { app: 'chat' } });
    const type = { apiVersion: 'inference.networking.k8s.io/v1', kind: 'InferencePool' };
    await until(async () => {
      await cluster.apply({ ...pool, ...type } as unknown as Manifest);
      return true;
    });
    await readyPod('stays', '10.1.0.1');
    await readyPod('leaves', '10.1.0.2');
    await until(() => endpoints === '10.1.0.1,10.1.0.2');

    await server.pause();
    await until(() => membership.state().watches.every((watch) => watch.reason !== undefined));
    expect(endpoints).toBe('10.1.0.1,10.1.0.2');
    expect(membership.notSynced()).toBeUndefined();

    await server.resume();
    await cluster.remove({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'leaves' } });
    await until(() => endpoints === '10.1.0.1');
    await readyPod('comes', '10.1.0.3');
    await until(() => endpoints === '10.1.0.1,10.1.0.3');
  } finally {
    await membership.stop();
  }
});
