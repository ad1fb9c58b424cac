import { FakeApiServer, podObject, poolObject } from '@leadsman/testing';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startMembership, type Told, until } from './membership-harness.ts';
import { registerMembershipMetrics } from './membership-metrics.ts';

let api: FakeApiServer;
const stops: (() => Promise<void>)[] = [];

beforeEach(async () => {
  api = new FakeApiServer();
  await api.start();
});

afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
  await api.stop();
});

async function start(options: Parameters<typeof startMembership>[1] = {}): Promise<Told> {
  const told = await startMembership(api, options);
  stops.push(() => told.membership.stop());
  return told;
}

const putPool = (name: string, more: object = {}) =>
  api.put('InferencePool', poolObject({ name, selector: { app: 'llm' }, ...more }));
const putPod = (name: string, ip: string, more: object = {}) =>
  api.put('Pod', podObject({ name, ip, labels: { app: 'llm' }, ...more }));

describe('a change that its taker throws at', () => {
  it('is told again until it is taken, and keeps no other pool from being told', async () => {
    putPool('llm');
    putPool('other');
    putPod('a', '10.0.0.1');
    let faults = 2;
    const told = await start({
      beforeTake: (event) => {
        if (event !== 'default/llm' || faults === 0) return;
        faults--;
        throw new Error('taker is broken');
      },
    });
    await until(() => told.endpoints('default/llm')?.join() === '10.0.0.1:8000');
    expect(told.endpoints('default/other')).toEqual(['10.0.0.1:8000']);
    expect(told.membership.failedChanges).toBe(2);
  });

  it('is told again also when the pool is gone', async () => {
    putPool('llm');
    let faults = 1;
    const told = await start({
      beforeTake: (event) => {
        if (event === '-default/llm' && faults-- > 0) throw new Error('taker is broken');
      },
    });
    await until(() => told.pools.has('default/llm'));
    api.remove('InferencePool', 'default', 'llm');
    await until(() => !told.pools.has('default/llm'));
    expect(told.membership.failedChanges).toBe(1);
  });
});

describe('members', () => {
  it('are the ready pods that the selector matches, one per target port', async () => {
    putPool('llm', { ports: [8000, 8001] });
    putPod('a', '10.0.0.1');
    putPod('b', '10.0.0.2', { labels: { app: 'other' } });
    putPod('c', '10.0.0.3', { namespace: 'elsewhere' });
    const told = await start();
    await until(() => told.pools.has('default/llm'));
    expect(told.endpoints('default/llm')).toEqual(['10.0.0.1:8000', '10.0.0.1:8001']);
    expect(told.pools.get('default/llm')?.members.map((member) => member.rank)).toEqual([0, 1]);
    expect(told.pools.get('default/llm')?.authorities).toEqual(['leadsman-picker.default']);
    await until(() => told.membership.notSynced() === undefined);
  });

  it('come and go with readiness, termination, phase and address', async () => {
    putPool('llm');
    putPod('a', '10.0.0.1');
    const told = await start();
    const endpoints = () => told.endpoints('default/llm')?.join();
    await until(() => endpoints() === '10.0.0.1:8000');
    putPod('a', '10.0.0.1', { ready: false });
    await until(() => endpoints() === '');
    expect(told.pools.get('default/llm')?.reasons).toEqual([
      '1 of 1: not ready (ContainersNotReady)',
    ]);
    putPod('a', '10.0.0.9');
    await until(() => endpoints() === '10.0.0.9:8000');
    putPod('a', '10.0.0.9', { terminating: true });
    await until(() => endpoints() === '');
    putPod('b', '', { phase: 'Pending' });
    putPod('c', '');
    await until(() => told.pools.get('default/llm')?.reasons.length === 3);
    expect(told.pools.get('default/llm')?.reasons).toEqual([
      '1 of 3: terminating',
      '1 of 3: not running (Pending)',
      '1 of 3: no address',
    ]);
  });

  it('are another pod, not the same one, when an address is used again', async () => {
    putPool('llm');
    putPod('old', '10.0.0.1', {
      uid: '11111111-1111-4111-8111-111111111111',
      createdAt: '2026-01-01T00:00:00Z',
    });
    const told = await start();
    await until(() => told.endpoints('default/llm')?.length === 1);
    // The new owner is seen before the former one's end.
    putPod('new', '10.0.0.1', {
      uid: '22222222-2222-4222-8222-222222222222',
      createdAt: '2026-01-01T00:01:00Z',
    });
    await until(() => told.pools.get('default/llm')?.members[0]?.podName === 'new');
    expect(told.pools.get('default/llm')?.members).toHaveLength(1);
    api.remove('Pod', 'default', 'old');
    putPod('last', '10.0.0.2');
    await until(() => told.endpoints('default/llm')?.length === 2);
    expect(told.pools.get('default/llm')?.members[0]?.podKey).toBe(
      '22222222-2222-4222-8222-222222222222',
    );
  });

  it('of a pod deleted while the watch was reconnecting are gone afterwards', async () => {
    putPool('llm');
    putPod('a', '10.0.0.1');
    putPod('b', '10.0.0.2');
    const told = await start();
    await until(() => told.endpoints('default/llm')?.length === 2);
    for (const forgets of [false, true]) {
      api.faults.push((request) => (request.watch ? { status: 503 } : undefined));
      api.disturbWatches('drop');
      await until(() =>
        told.membership.state().watches.every((watch) => watch.reason !== undefined),
      );
      api.remove('Pod', 'default', forgets ? 'b' : 'a');
      if (forgets) api.compact();
      api.faults.length = 0;
      const left = forgets ? '' : '10.0.0.2:8000';
      await until(() => told.endpoints('default/llm')?.join() === left);
    }
  });

  it('follow a change of the pool itself', async () => {
    putPool('llm');
    putPod('a', '10.0.0.1');
    putPod('b', '10.0.0.2', { labels: { app: 'next' } });
    const told = await start();
    await until(() => told.endpoints('default/llm')?.join() === '10.0.0.1:8000');
    putPool('llm', { selector: { app: 'next' }, ports: [9000] });
    await until(() => told.endpoints('default/llm')?.join() === '10.0.0.2:9000');
  });

  it('shrink with the ports of the pool, and a pod that serves none of them is named', async () => {
    putPool('llm', { ports: [8000, 8001] });
    putPod('a', '10.0.0.1');
    putPod('b', '10.0.0.2');
    const told = await start();
    await until(() => told.endpoints('default/llm')?.length === 4);
    putPool('llm', { ports: [8000] });
    await until(() => told.endpoints('default/llm')?.join() === '10.0.0.1:8000,10.0.0.2:8000');
    putPod('odd', '10.0.0.3', { ports: [8300] });
    await until(() => told.pools.get('default/llm')?.reasons.length === 1);
    expect(told.endpoints('default/llm')).toHaveLength(2);
    expect(told.pools.get('default/llm')?.reasons).toEqual([
      '1 of 3: port mismatch (has 8300, the pool wants 8000)',
    ]);
    const registry = new Registry();
    registerMembershipMetrics(registry, told.membership);
    expect(await registry.metrics()).toContain(
      'leadsman_picker_pods_without_endpoint{pool="default/llm",reason="port_mismatch"} 1',
    );
  });

  it('lose a pod by each of the events that end its service, and regain it', async () => {
    putPool('llm');
    const steady = '10.0.0.2:8000';
    putPod('steady', '10.0.0.2');
    const told = await start();
    const endpoints = () => told.endpoints('default/llm')?.join();
    const ends: [string, object][] = [
      ['', { phase: 'Failed' }],
      ['10.0.0.1', { ready: false }],
      ['10.0.0.1', { labels: { app: 'retired' } }],
      ['10.0.0.1', { terminating: true }],
    ];
    for (const [ip, more] of ends) {
      putPod('a', '10.0.0.1');
      await until(() => endpoints() === `10.0.0.1:8000,${steady}`);
      putPod('a', ip, more);
      await until(() => endpoints() === steady);
    }
  });

  it('of a pool without label or port are none, and it says why', async () => {
    putPool('empty', { selector: {}, ports: [] });
    putPool('lonely', { selector: { app: 'nobody' } });
    putPod('a', '10.0.0.1');
    const told = await start();
    await until(() => told.pools.size === 2);
    expect(told.pools.get('default/empty')).toMatchObject({
      members: [],
      reasons: ['the selector has no label', 'the pool has no target port'],
    });
    expect(told.pools.get('default/lonely')?.reasons).toEqual([
      'no pod in namespace default has the labels app=nobody',
    ]);
  });
});

describe('pools', () => {
  it('of another Service or class are left alone', async () => {
    putPool('blue', { annotations: { 'inference.networking.k8s.io/inference-class': 'blue' } });
    putPool('green', { annotations: { 'inference.networking.k8s.io/inference-class': 'green' } });
    putPool('plain');
    putPool('foreign', { picker: 'somebody-else' });
    putPod('a', '10.0.0.1');
    const blue = await start({ claim: { inferenceClass: 'blue' } });
    const green = await start({ claim: { inferenceClass: 'green', isDefaultClass: true } });
    await until(() => blue.pools.size === 1 && green.pools.size === 2);
    expect([...blue.pools.keys()]).toEqual(['default/blue']);
    expect([...green.pools.keys()].sort()).toEqual(['default/green', 'default/plain']);
    expect(Object.keys(blue.membership.state().foreign).sort()).toEqual([
      'default/foreign',
      'default/green',
      'default/plain',
    ]);
    expect(green.membership.state().foreign['default/foreign']).toContain('somebody-else');
    // Nobody wrote anything, to any pool.
    expect(new Set(api.seen.map((request) => request.method))).toEqual(new Set(['GET']));
  });

  it('are given up when they turn to another picker, and taken when they turn to this one', async () => {
    putPool('llm');
    putPod('a', '10.0.0.1');
    const told = await start();
    await until(() => told.endpoints('default/llm')?.length === 1);
    putPool('llm', { picker: 'somebody-else' });
    await until(() => told.events.includes('-default/llm'));
    await until(() => told.membership.state().watches.every((watch) => watch.resource !== 'pods'));
    putPool('llm');
    await until(() => told.endpoints('default/llm')?.length === 1);
    api.remove('InferencePool', 'default', 'llm');
    await until(() => told.pools.size === 0);
  });

  it('are read with the same paths for list and watch, and only where asked for', async () => {
    putPool('llm', { namespace: 'a' });
    putPool('llm', { namespace: 'b' });
    putPool('llm', { namespace: 'c' });
    const told = await start({ namespaces: ['a', 'b'] });
    await until(() => told.pools.size === 2);
    await until(() => told.membership.notSynced() === undefined);
    expect(api.seen.every((request) => /\/namespaces\/[ab]\//.test(request.path))).toBe(true);
  });

  it('of all namespaces are read by one watch, their pods by one per namespace', async () => {
    for (const namespace of ['a', 'b', 'c']) {
      putPool('llm', { namespace, picker: namespace === 'c' ? 'other' : 'leadsman-picker' });
    }
    const told = await start({ namespaces: [''] });
    await until(() => told.pools.size === 2);
    await until(() => told.membership.notSynced() === undefined);
    const pods = new Set(api.requests('/pods').map((request) => request.path));
    expect(pods).toEqual(new Set(['/api/v1/namespaces/a/pods', '/api/v1/namespaces/b/pods']));
  });

  it('carry the priorities of their objectives, where such a CRD exists', async () => {
    putPool('llm');
    const objective = (name: string, priority: number | undefined) =>
      api.put('InferenceObjective', {
        metadata: { name, namespace: 'default' },
        spec: { poolRef: { name: 'llm' }, ...(priority === undefined ? {} : { priority }) },
      });
    objective('batch', -1);
    const told = await start();
    const priorities = () => told.pools.get('default/llm')?.objectives;
    await until(() => priorities()?.batch === -1);
    objective('chat', 10);
    objective('plain', undefined);
    await until(() => priorities()?.plain === 0);
    expect(priorities()).toEqual({ batch: -1, chat: 10, plain: 0 });
    api.remove('InferenceObjective', 'default', 'batch');
    await until(() => priorities()?.batch === undefined);
  });
});

describe('an API server that', () => {
  it('is away changes nothing for known pods, and changes nothing about being ready', async () => {
    putPool('llm');
    putPod('a', '10.0.0.1');
    const told = await start();
    await until(() => told.membership.notSynced() === undefined);
    await until(() => told.endpoints('default/llm')?.length === 1);
    await api.stop();
    await until(() => told.membership.state().watches.every((watch) => watch.failures >= 3));
    expect(told.membership.notSynced()).toBeUndefined();
    expect(told.endpoints('default/llm')).toEqual(['10.0.0.1:8000']);
    await api.start();
    putPod('b', '10.0.0.2');
    await until(() => told.endpoints('default/llm')?.length === 2);
  });

  it('refuses is the reason for not being ready, and not an empty pool', async () => {
    putPool('llm');
    putPod('a', '10.0.0.1');
    api.faults.push((request) => (request.path.endsWith('/pods') ? { status: 403 } : undefined));
    const told = await start();
    await until(() =>
      /pods of namespace default not read: rbac/.test(told.membership.notSynced() ?? ''),
    );
    expect(told.pools.size).toBe(0);
    api.faults.length = 0;
    await until(() => told.endpoints('default/llm')?.length === 1);
  });

  it('does not know InferencePools yet is asked again until it does', async () => {
    const pools = api.resources.findIndex((resource) => resource.kind === 'InferencePool');
    const [definition] = api.resources.splice(pools, 1);
    const told = await start();
    await until(() => /not_found/.test(told.membership.notSynced() ?? ''));
    api.resources.push(definition!);
    putPool('llm');
    await until(() => told.pools.has('default/llm'));
  });

  it('is slow holds nothing back for ever', async () => {
    putPool('llm');
    putPod('a', '10.0.0.1');
    api.faults.push((request) => (request.watch ? undefined : { delayMs: 100 }));
    const told = await start();
    expect(told.membership.notSynced()).toMatch(/InferencePools of namespace default not read/);
    await until(() => told.endpoints('default/llm')?.length === 1);
  });
});
