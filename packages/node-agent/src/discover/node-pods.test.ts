import { KubeClient, kubeconfigAccess } from '@leadsman/kube';
import { FakeApiServer, podObject, waitUntil } from '@leadsman/testing';
import { podKeyFromUid, podKeyText, readAddress } from '@leadsman/wire';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { NodePods } from './node-pods.ts';

let api: FakeApiServer;
let pods: NodePods;
const logger = { info: () => {}, warn: () => {}, error: () => {}, debug: () => {} };

beforeEach(async () => {
  api = new FakeApiServer();
  await api.start();
});
afterEach(async () => {
  await pods.stop();
  await api.stop();
});

const addressesOf = (uid: string) =>
  pods.addressesOf(podKeyText(podKeyFromUid(uid)))?.map((bytes) => readAddress(bytes, 0));
const until = (condition: () => boolean) =>
  waitUntil(condition, { what: String(condition), intervalMs: 5, deadlineMs: 8_000 });

it('knows who is on this node and where, as it changes', async () => {
  const put = (name: string, ip: string, more: object = {}) =>
    api.put('Pod', podObject({ name, uid: `uid-${name}`, ip, node: 'node-1', ...more }));
  put('a', '10.0.0.1');
  put('far', '10.0.0.2', { node: 'node-2' });
  put('static', '10.0.0.3', { annotations: { 'kubernetes.io/config.hash': 'hash-of-it' } });
  put('ended', '10.0.0.4', { phase: 'Succeeded' });
  pods = new NodePods({
    client: new KubeClient(await kubeconfigAccess({ text: api.kubeconfig })),
    nodeName: 'node-1',
    logger,
    random: () => 0.5,
  });
  expect(pods.listed).toBe(false);
  pods.start();
  await until(() => pods.listed);
  expect(addressesOf('uid-a')).toEqual(['10.0.0.1']);
  expect(addressesOf('uid-far')).toBeUndefined();
  expect(addressesOf('hash-of-it')).toEqual(['10.0.0.3']);
  expect(addressesOf('uid-ended')).toBeUndefined();
  put('b', '');
  await until(() => addressesOf('uid-b')?.length === 0);
  put('b', '10.0.0.5');
  await until(() => addressesOf('uid-b')?.[0] === '10.0.0.5');
  api.remove('Pod', 'default', 'b');
  await until(() => addressesOf('uid-b') === undefined);
});
