import { request } from 'node:https';
import { KubeClient, kubeconfigAccess } from '@leadsman/kube';
import { createLogger } from '@leadsman/service';
import { FakeApiServer, poolObject, waitUntil } from '@leadsman/testing';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { injectorConfigShape } from './config.ts';
import { sidecarTemplateShape } from './mutate/sidecar-template.ts';
import { type RunningInjector, startInjector } from './start.ts';

let api: FakeApiServer;
let nowMs: number;
const stops: (() => Promise<void>)[] = [];
const day = 86_400_000;

beforeEach(async () => {
  api = new FakeApiServer();
  await api.start();
  // TLS itself checks against the machine's clock, so the tests' clock begins there.
  nowMs = Date.now();
  api.put('Secret', { metadata: { name: 'leadsman-injector-tls', namespace: 'leadsman' } });
  api.put('MutatingWebhookConfiguration', {
    metadata: { name: 'leadsman-injector' },
    webhooks: [
      { name: 'pods.inject.leadsman.dev', clientConfig: { service: { name: 'x' } } },
      { name: 'pools.inject.leadsman.dev', clientConfig: { service: { name: 'x' } } },
    ],
  });
});

afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
  await api.stop();
});

async function start(
  delay = async (_ms: number) => {},
): Promise<RunningInjector & { registry: Registry }> {
  const registry = new Registry();
  const injector = await startInjector(
    injectorConfigShape.parse({
      sidecarFile: 'unused',
      podNamespace: 'leadsman',
      adminHost: '127.0.0.1',
      adminPort: 0,
      webhookHost: '127.0.0.1',
      webhookPort: 0,
      certificateDays: 30,
    }),
    {
      client: new KubeClient(await kubeconfigAccess({ text: api.kubeconfig })),
      template: sidecarTemplateShape.parse({ image: 'leadsman:test' }),
      logger: createLogger({ name: 'test', level: 'silent' }),
      registry,
      random: () => 0.5,
      nowMs: () => nowMs,
      delay,
    },
  );
  stops.push(() => injector.stop());
  return { ...injector, registry };
}

const until = (condition: () => boolean | Promise<boolean>) =>
  waitUntil(condition, { what: String(condition), intervalMs: 5 });

type Webhooks = { clientConfig: { caBundle?: string } }[];
const bundles = () =>
  (api.get('MutatingWebhookConfiguration', '', 'leadsman-injector')!.webhooks as Webhooks).map(
    (webhook) => Buffer.from(webhook.clientConfig.caBundle ?? '', 'base64').toString(),
  );
const secret = () =>
  api.get('Secret', 'leadsman', 'leadsman-injector-tls')?.data as Record<string, string>;
const authorities = (bundle: string | undefined) => bundle?.match(/BEGIN CERTIFICATE/g)?.length;

/** Calls the webhook by the Service's name, trusting the bundle alone, as an API server does. */
function callWebhook(
  port: number,
  body: unknown,
  keepAlive = false,
): Promise<{ status: number; text: string; connection: string | undefined }> {
  return new Promise((resolve, reject) => {
    const call = request(
      {
        host: '127.0.0.1',
        port,
        path: '/mutate',
        method: 'POST',
        ca: bundles()[0],
        servername: 'leadsman-injector.leadsman.svc',
        agent: false,
        headers: {
          'content-type': 'application/json',
          connection: keepAlive ? 'keep-alive' : 'close',
        },
      },
      (response) => {
        let text = '';
        response.on('data', (piece) => {
          text += piece;
        });
        response.on('end', () => {
          const { statusCode: status = 0, headers } = response;
          resolve({ status, text, connection: headers.connection });
        });
      },
    );
    call.on('error', reject);
    call.end(JSON.stringify(body));
  });
}

const reviewOf = (labels: Record<string, string>) => ({
  request: {
    uid: '1',
    operation: 'CREATE',
    namespace: 'models',
    resource: { group: '', version: 'v1', resource: 'pods' },
    object: { metadata: { labels }, spec: { containers: [{ name: 'engine' }] } },
  },
});

describe('the injector', () => {
  it('makes its certificate, has it trusted, and answers reviews with it', async () => {
    const injector = await start();
    const port = await injector.webhookPort;
    await until(() => authorities(bundles()[1]) === 1);
    const answer = await callWebhook(port, reviewOf({ 'leadsman.dev/inject': 'true' }));
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text).response).toMatchObject({ allowed: true });
    const ready = await fetch(`http://127.0.0.1:${injector.adminPort}/readyz`);
    expect(ready.status).toBe(200);
    const metrics = await injector.registry.metrics();
    expect(metrics).toContain('leadsman_injector_reviews_total{outcome="injected"} 1');
    const left = /left_seconds (\d+)/.exec(metrics)?.[1];
    expect(Number(left)).toBeGreaterThan((29 * day) / 1_000);
  });

  it('shares one certificate among replicas that start together', async () => {
    const replicas = await Promise.all([start(), start()]);
    const ports = await Promise.all(replicas.map((replica) => replica.webhookPort));
    await until(async () => {
      const answers = ports.map((port) => callWebhook(port, reviewOf({})));
      return (await Promise.all(answers)).every((answer) => answer.status === 200);
    });
    expect(authorities(bundles()[0])).toBeLessThanOrEqual(2);
  });

  it('renews before the end, trusts the new authority first and keeps the former one', async () => {
    const injector = await start();
    const port = await injector.webhookPort;
    await until(() => authorities(bundles()[0]) === 1);
    const before = secret()['tls.crt'];
    nowMs += 21 * day;
    // Any event makes it look; in life a timer does, too.
    api.put('MutatingWebhookConfiguration', {
      ...api.get('MutatingWebhookConfiguration', '', 'leadsman-injector')!,
    });
    await until(() => secret()['tls.crt'] !== before && authorities(bundles()[0]) === 2);
    // The former certificate is still served, and trusted.
    expect((await callWebhook(port, reviewOf({}))).status).toBe(200);
  });

  it('repairs a bundle that somebody emptied', async () => {
    await (await start()).webhookPort;
    await until(() => authorities(bundles()[0]) === 1);
    const found = api.get('MutatingWebhookConfiguration', '', 'leadsman-injector')!;
    api.put('MutatingWebhookConfiguration', {
      ...found,
      webhooks: (found.webhooks as Webhooks).map((webhook) => ({ ...webhook, clientConfig: {} })),
    });
    await until(() => bundles().every((bundle) => authorities(bundle) === 1));
  });

  it('is not ready, says why, and recovers, when it may not write its secret', async () => {
    api.faults.push((request) => (request.method === 'PATCH' ? { status: 403 } : undefined));
    const injector = await start();
    const ready = () => fetch(`http://127.0.0.1:${injector.adminPort}/readyz`);
    await until(async () => /403/.test(await (await ready()).text()));
    expect((await fetch(`http://127.0.0.1:${injector.adminPort}/healthz`)).status).toBe(200);
    api.faults.length = 0;
    api.put('Secret', { metadata: { name: 'leadsman-injector-tls', namespace: 'leadsman' } });
    await until(async () => (await ready()).ok);
  });

  it('reviews pods for a while after it was told to end, and has callers leave', async () => {
    const notice = Promise.withResolvers<void>();
    const injector = await start(() => notice.promise);
    const port = await injector.webhookPort;
    await until(() => authorities(bundles()[0]) === 1);
    const review = reviewOf({ 'leadsman.dev/inject': 'true' });
    expect((await callWebhook(port, review, true)).connection).toBe('keep-alive');
    const stopped = injector.stop();
    const ready = await fetch(`http://127.0.0.1:${injector.adminPort}/readyz`);
    expect([ready.status, await ready.text()]).toEqual([503, 'draining\n']);
    const answer = await callWebhook(port, review, true);
    expect(answer).toMatchObject({ status: 200, connection: 'close' });
    expect(answer.text).toContain('"patch"');
    notice.resolve();
    await stopped;
    await expect(callWebhook(port, review)).rejects.toThrow();
  });

  it('knows the pools of the cluster', async () => {
    api.put('InferencePool', poolObject({ name: 'llm', namespace: 'models', ports: [9000] }));
    const port = await (await start()).webhookPort;
    await until(async () =>
      /"patch"/.test((await callWebhook(port, reviewOf({ app: 'llm' }))).text),
    );
  });
});
