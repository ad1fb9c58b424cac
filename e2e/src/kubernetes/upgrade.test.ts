/**
 * A release through its life, by helm itself: installed, changed in every way that touches what
 * cannot be changed in place, rolled back, removed. What the injector wrote into the release's
 * objects must outlive all but the last.
 */
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { Cluster, helmWith, statusOf } from './cluster.ts';

const namespace = 'upgraded';
const kubeconfig = inject('kubeconfig');
const helm = (args: readonly string[], values?: unknown) =>
  helmWith(kubeconfig, [...args, '-n', namespace], values);

const secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'leadsman-injector-tls', namespace },
};
const webhook = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'MutatingWebhookConfiguration',
  metadata: { name: `${namespace}-leadsman-injector` },
};
const picker = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'leadsman-picker', namespace },
};

let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.open(kubeconfig);
  await cluster.namespace(namespace);
  await helm(['install', 'leadsman', 'chart', '-f', 'values'], {
    image: { tag: 'first' },
    picker: { strategy: 'least-load' },
  });
  await cluster.client.json(
    'PATCH',
    `/api/v1/namespaces/${namespace}/secrets/${secret.metadata.name}`,
    {
      contentType: 'application/merge-patch+json',
      body: { data: { 'tls.crt': 'Y2VydA==', 'tls.key': 'a2V5', 'ca.crt': 'Y2E=' } },
    },
  );
  const path = `/apis/${webhook.apiVersion}/mutatingwebhookconfigurations/${webhook.metadata.name}`;
  await cluster.client.json('PATCH', path, {
    contentType: 'application/json-patch+json',
    body: [0, 1].map((i) => ({
      op: 'add',
      path: `/webhooks/${i}/clientConfig/caBundle`,
      value: 'Y2E=',
    })),
  });
});

afterAll(async () => {
  await helm(['uninstall', 'leadsman', '--ignore-not-found']);
  cluster.close();
});

async function expectWhatTheInjectorWrote(): Promise<void> {
  expect((await cluster.get(secret)).data).toMatchObject({ 'tls.key': 'a2V5', 'ca.crt': 'Y2E=' });
  const { webhooks } = await cluster.get(webhook);
  expect(webhooks.map((one: typeof webhooks) => one.clientConfig.caBundle)).toEqual([
    'Y2E=',
    'Y2E=',
  ]);
}

const imageOfPicker = async () =>
  (await cluster.get(picker)).spec.template.spec.containers[0].image;

it('is upgraded in place, keeps the values that were set, and can go back', async () => {
  await helm(['upgrade', 'leadsman', 'chart', '--reset-then-reuse-values', '-f', 'values'], {
    image: { tag: 'second' },
    nats: { url: 'nats://nats:4222' },
    collector: { enabled: true },
    agent: { expose: 'service' },
    picker: { replicas: 3, drainSeconds: 60, services: ['of-code'] },
  });
  expect(await imageOfPicker()).toBe('leadsman/leadsman:second');
  const { env } = (await cluster.get(picker)).spec.template.spec.containers[0];
  expect(env).toContainEqual({ name: 'LEADSMAN_STRATEGY', value: 'least-load' });
  await expectWhatTheInjectorWrote();

  await helm(['rollback', 'leadsman', '1']);
  expect(await imageOfPicker()).toBe('leadsman/leadsman:first');
  await expectWhatTheInjectorWrote();
});

it('leaves nothing of its own', async () => {
  await helm(['uninstall', 'leadsman']);
  for (const one of [secret, webhook]) expect(await statusOf(cluster.get(one))).toBe(404);
});
