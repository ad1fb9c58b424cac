/** The picker's membership against a real API server, with the rights that the chart gives. */
import { Reflector } from '@leadsman/kube';
import { KubernetesMembership } from '@leadsman/picker';
import type { PoolMembers } from '@leadsman/scheduling/endpoint';
import { createLogger } from '@leadsman/service';
import { poolObject } from '@leadsman/testing';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { Cluster, type Manifest, renderChart, statusOf, until } from './cluster.ts';

let cluster: Cluster;
const stops: (() => Promise<void>)[] = [];

beforeAll(async () => {
  cluster = await Cluster.open(inject('kubeconfig'));
});

afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

afterAll(() => cluster.close());

/** Installs a release's accounts and rights, without its workloads. */
async function installRights(namespace: string, name: string, values: object = {}): Promise<void> {
  await cluster.namespace(namespace);
  for (const manifest of await renderChart({ name, namespace }, values)) {
    if (!/^(ServiceAccount|(Cluster)?Role(Binding)?)$/.test(manifest.kind)) continue;
    await cluster.namespace(manifest.metadata.namespace ?? namespace);
    await cluster.apply(manifest);
  }
}

async function startPicker(
  namespace: string,
  account: string,
  options: { namespaces?: string[]; inferenceClass?: string; isDefaultClass?: boolean } = {},
) {
  const membership = new KubernetesMembership({
    client: await cluster.as(namespace, account),
    namespaces: options.namespaces ?? [namespace],
    claim: {
      services: [account],
      inferenceClass: options.inferenceClass ?? '',
      isDefaultClass: options.isDefaultClass ?? false,
    },
    logger: createLogger({ name: 'test', level: 'silent' }),
    random: Math.random,
  });
  const pools = new Map<string, PoolMembers>();
  membership.start({
    poolChanged: (members) => pools.set(members.pool, members),
    poolRemoved: (pool) => pools.delete(pool),
  });
  stops.push(() => membership.stop());
  const endpoints = (pool: string) =>
    pools
      .get(pool)
      ?.members.map(({ address, port }) => `${address}:${port}`)
      .sort()
      .join();
  return { membership, pools, endpoints };
}

async function createPod(namespace: string, name: string, labels: Record<string, string>) {
  await cluster.create({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels },
    spec: { nodeName: 'node-1', containers: [{ name: 'engine', image: 'engine' }] },
  });
}

async function applyPool(namespace: string, name: string, picker: string, annotations = {}) {
  const pool = poolObject({ name, namespace, picker, selector: { app: name }, annotations });
  const type = { apiVersion: 'inference.networking.k8s.io/v1', kind: 'InferencePool' };
  await cluster.apply({ ...pool, ...type } as unknown as Manifest);
}

const podOf = (namespace: string, name: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace },
});

describe('membership', () => {
  it('follows pods from creation by status to deletion, with the rights of the chart', async () => {
    await installRights('members', 'leadsman');
    await applyPool('members', 'chat', 'leadsman-picker');
    const { membership, endpoints } = await startPicker('members', 'leadsman-picker');
    await until(() => endpoints('members/chat') === '');
    await until(() => membership.notSynced() === undefined);

    await createPod('members', 'chat-0', { app: 'chat' });
    await createPod('members', 'other-0', { app: 'other' });
    await cluster.reportPod('members', 'chat-0', { ip: '10.1.0.1', ready: false });
    await cluster.reportPod('members', 'other-0', { ip: '10.1.0.2', ready: true });
    await until(() => membership.state().pools['members/chat']?.pods.not_ready === 1);
    expect(endpoints('members/chat')).toBe('');
    await cluster.reportPod('members', 'chat-0', { ip: '10.1.0.1', ready: true });
    await until(() => endpoints('members/chat') === '10.1.0.1:8000');
    await cluster.reportPod('members', 'chat-0', { ip: '10.1.0.9', ready: true });
    await until(() => endpoints('members/chat') === '10.1.0.9:8000');
    await cluster.remove(podOf('members', 'chat-0'));
    await until(() => endpoints('members/chat') === '');
  });

  it('carries objectives, where the API server knows them', async () => {
    await installRights('goals', 'leadsman');
    await applyPool('goals', 'chat', 'leadsman-picker');
    await cluster.apply({
      apiVersion: 'inference.networking.x-k8s.io/v1alpha2',
      kind: 'InferenceObjective',
      metadata: { name: 'urgent', namespace: 'goals' },
      spec: { priority: 7, poolRef: { name: 'chat' } },
    });
    const { pools } = await startPicker('goals', 'leadsman-picker');
    await until(() => pools.get('goals/chat')?.objectives.urgent === 7);
  });

  it('of pickers of two classes leaves the third pool and each other alone', async () => {
    const annotation = 'inference.networking.k8s.io/inference-class';
    await installRights('classes', 'blue');
    await installRights('classes', 'green');
    await applyPool('classes', 'one', 'blue-leadsman-picker', { [annotation]: 'blue' });
    await applyPool('classes', 'two', 'green-leadsman-picker');
    await applyPool('classes', 'three', 'somebody-else');
    const before = await poolsOf('classes');
    const blue = await startPicker('classes', 'blue-leadsman-picker', { inferenceClass: 'blue' });
    const green = await startPicker('classes', 'green-leadsman-picker', {
      inferenceClass: 'green',
      isDefaultClass: true,
    });
    await until(() => blue.pools.size === 1 && green.pools.size === 1);
    expect([...blue.pools.keys(), ...green.pools.keys()]).toEqual(['classes/one', 'classes/two']);
    expect(await poolsOf('classes')).toEqual(before);
  });

  it('of all namespaces has the rights for it, and of one namespace only for that', async () => {
    await installRights('wide', 'leadsman', { picker: { namespaces: ['*'] } });
    await installRights('narrow', 'leadsman');
    await applyPool('wide', 'chat', 'leadsman-picker');
    const wide = await startPicker('wide', 'leadsman-picker', { namespaces: [''] });
    await until(() => wide.pools.has('wide/chat') && wide.membership.notSynced() === undefined);
    const narrow = await startPicker('narrow', 'leadsman-picker', { namespaces: ['wide'] });
    await until(() => /: rbac: /.test(narrow.membership.notSynced() ?? ''));
  });
});

describe('the rights of', () => {
  const tries: [string, string, string, number][] = [
    ['the picker', 'leadsman-picker', '/api/v1/namespaces/rights/pods', 0],
    ['the picker', 'leadsman-picker', '/api/v1/namespaces/rights/secrets', 403],
    ['the picker', 'leadsman-picker', '/api/v1/namespaces/default/pods', 403],
    ['the agent', 'leadsman-agent', '/api/v1/pods', 0],
    ['the agent', 'leadsman-agent', '/api/v1/nodes', 403],
    ['the collector', 'leadsman-collector', '/api/v1/namespaces/rights/pods', 403],
    ['the injector', 'leadsman-injector', '/apis/inference.networking.k8s.io/v1/inferencepools', 0],
    ['the injector', 'leadsman-injector', '/api/v1/pods', 403],
    ['the injector', 'leadsman-injector', '/api/v1/namespaces/rights/secrets', 403],
  ];

  it.each(tries)('%s (%s) at %s: %i', async (_, account, path, status) => {
    await installRights('rights', 'leadsman', { collector: { enabled: true } });
    const client = await cluster.as('rights', account);
    stops.push(async () => client.access.close());
    expect(await statusOf(client.json('GET', path))).toBe(status);
  });

  it('the agent are enough to watch the pods of its node', async () => {
    await installRights('rights', 'leadsman');
    await createPod('rights', 'here', {});
    const client = await cluster.as('rights', 'leadsman-agent');
    const names = new Set<string>();
    const reflector = new Reflector<string>({
      client,
      resource: { group: '', version: 'v1', plural: 'pods' },
      fieldSelector: 'spec.nodeName=node-1',
      project: (object) => object.metadata.name,
      listener: { upserted: (_uid, name) => names.add(name), removed: () => {} },
      random: Math.random,
    });
    reflector.start();
    stops.push(async () => {
      await reflector.stop();
      client.access.close();
    });
    await until(() => names.has('here') && reflector.synced);
  });
});

async function poolsOf(namespace: string): Promise<unknown> {
  const path = `/apis/inference.networking.k8s.io/v1/namespaces/${namespace}/inferencepools`;
  return ((await cluster.client.json('GET', path)) as { items: unknown }).items;
}
