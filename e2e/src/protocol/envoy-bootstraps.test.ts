/** Each bootstrap of `deploy/envoy` in real Envoy: the pick is followed, other routes stay plain. */
import { readdir, readFile } from 'node:fs/promises';
import { openIdentity } from '@leadsman/picker';
import { requireEnvoy, waitUntil } from '@leadsman/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { destinationHeader } from './client.ts';
import { type Bootstrap, type Gateway, type GatewaySetup, startGateway } from './gateway.ts';
import { startGatewayProcessor } from './gateway-processor.ts';
import { type PickerUnderTest, startPickerUnderTest } from './picker-under-test.ts';
import { startUpstream, type Upstream } from './upstream.ts';

const folder = new URL('../../../deploy/envoy/', import.meta.url);
const cleanups: (() => unknown)[] = [];
let picker: PickerUnderTest;
let first: Upstream;
let second: Upstream;
let plain: Upstream;

async function upstream(): Promise<Upstream> {
  const started = await startUpstream();
  cleanups.push(() => started.stop());
  return started;
}
async function tlsPicker(): Promise<PickerUnderTest> {
  const { first: tls } = await openIdentity({ certFile: '', keyFile: '', unixMs: Date.now() });
  const started = await startPickerUnderTest((options) => {
    options.tls = tls;
  });
  cleanups.push(() => started.stop());
  return started;
}

beforeEach(async () => {
  picker = await tlsPicker();
  [first, second, plain] = await Promise.all([upstream(), upstream(), upstream()]);
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function start(setup: Partial<GatewaySetup> & { bootstrap: Bootstrap }): Promise<Gateway> {
  const gateway = await startGateway({
    pickers: [picker.port],
    pool: [first.port, second.port],
    plain: plain.port,
    ...setup,
  });
  cleanups.push(() => gateway.stop());
  return gateway;
}

async function post(
  gateway: Gateway,
  headers: Record<string, string> = {},
  body = '{"model":"m"}',
) {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}
const counts = () => [first.requests.length, second.requests.length];
const pickerStreams = (gateway: Gateway) =>
  gateway.stat('http.gateway.ext_proc.picker.streams_started');

test('every bootstrap gives the picker more time than large bodies need', async () => {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.yaml'));
  expect(files.length).toBeGreaterThanOrEqual(7);
  for (const file of files) {
    const text = await readFile(new URL(file, folder), 'utf8');
    const timeouts = [...text.matchAll(/message_timeout: (\d+)s/g)].map((match) =>
      Number(match[1]),
    );
    expect(timeouts.length).toBeGreaterThan(0);
    expect(Math.min(...timeouts)).toBeGreaterThanOrEqual(10);
  }
});

describe.skipIf(!requireEnvoy())('in Envoy', () => {
  const all: Bootstrap[] = ['original-dst', 'override-host', 'subset', 'fail-open', 'fail-close'];
  test.each(all)(
    '%s: the pick is followed over TLS, whatever the client says',
    async (bootstrap) => {
      const gateway = await start({ bootstrap });
      for (const [target, expected] of [
        [first, [3, 0]],
        [second, [3, 3]],
      ] as const) {
        picker.scheduler.destinations = [target.address];
        for (let i = 0; i < 3; i++) {
          const { status } = await post(gateway, { [destinationHeader]: plain.address });
          expect(status).toBe(200);
        }
        expect(counts()).toEqual(expected);
      }
      await waitUntil(() => picker.scheduler.open.size === 0, { what: 'the releases' });
      expect(picker.counters.get('served_as_picked')).toBe(6);
      expect(picker.counters.get('served_elsewhere')).toBe(0);
    },
  );

  test.each(all)('%s: other routes never reach the picker', async (bootstrap) => {
    const gateway = await start({ bootstrap });
    const statuses = await Promise.all(
      Array.from({ length: 200 }, async (_, i) => {
        const response = await fetch(`${gateway.url}/other/${i}`, { method: 'POST', body: 'x' });
        await response.text();
        return response.status;
      }),
    );
    expect(statuses.every((status) => status === 200)).toBe(true);
    expect(plain.requests).toHaveLength(200);
    expect(await pickerStreams(gateway)).toBe(0);
    expect(picker.counters.get('exchanges_started')).toBe(0);
  });

  test('standalone: one Envoy beside a picker in plaintext', async () => {
    const plaintext = await startPickerUnderTest();
    cleanups.push(() => plaintext.stop());
    plaintext.scheduler.destinations = [second.address];
    const gateway = await start({ bootstrap: 'standalone', pickers: [plaintext.port] });
    expect((await post(gateway)).status).toBe(200);
    expect(counts()).toEqual([0, 1]);
  });

  test('override-host: a dead endpoint is retried at the next one of the list', async () => {
    const gateway = await start({ bootstrap: 'override-host' });
    picker.scheduler.destinations = [`${first.address},${second.address}`];
    await first.stop();
    for (let i = 0; i < 5; i++) expect((await post(gateway)).status).toBe(200);
    expect(second.requests).toHaveLength(5);
    await waitUntil(() => picker.counters.get('served_elsewhere') === 5, {
      what: 'the picker to hear where it was served',
    });
  });

  test('original-dst: a dead endpoint is told from an engine that answers an error', async () => {
    const gateway = await start({ bootstrap: 'original-dst' });
    picker.scheduler.destinations = [first.address];
    await first.stop();
    expect((await post(gateway)).status).toBe(503);
    await waitUntil(() => picker.counters.get('upstream_failures') === 1, {
      what: 'the picker to hear of the failed connection',
    });
    expect(picker.scheduler.failed).toEqual([0]);
    picker.scheduler.destinations = [second.address];
    expect((await post(gateway)).status).toBe(200);
    expect(picker.scheduler.withdrawn).toEqual([]);
  });

  test('subset: a pick that is no host of the cluster is a 503', async () => {
    const gateway = await start({ bootstrap: 'subset' });
    picker.scheduler.destinations = ['10.9.9.9:1'];
    expect((await post(gateway)).status).toBe(503);
    expect(counts()).toEqual([0, 0]);
  });

  test('a refusal of the picker stands, in fail-open too', async () => {
    const gateway = await start({ bootstrap: 'fail-open' });
    picker.scheduler.answer = (_, into) => {
      into.status = 'shed';
      into.retryAfterS = 3;
    };
    const { status, text, headers } = await post(gateway);
    expect(status).toBe(429);
    expect(headers.get('retry-after')).toBe('3');
    expect(JSON.parse(text)).toMatchObject({ error: { type: 'rate_limit_error' } });
    expect(counts()).toEqual([0, 0]);
  });

  test('a gRPC client gets the refusal as a gRPC status', async () => {
    const gateway = await start({ bootstrap: 'original-dst' });
    picker.scheduler.destinations = [];
    const { headers } = await post(gateway, { 'content-type': 'application/grpc' });
    expect(headers.get('grpc-status')).toBe('14');
  });

  describe('ai-gateway', () => {
    const translated = '{"model":"a-much-longer-name","messages":[]}';
    async function startAi(): Promise<Gateway> {
      const processor = await startGatewayProcessor(() => translated);
      cleanups.push(() => processor.stop());
      picker.scheduler.destinations = [first.address];
      return start({ bootstrap: 'ai-gateway', gatewayProcessor: processor.port });
    }

    test('the picker sees the translated body; it arrives with its one right length', async () => {
      const gateway = await startAi();
      expect((await post(gateway, {}, '{"model":"alias"}')).status).toBe(200);
      const seen = first.requests[0]!;
      expect(seen.body).toBe(translated);
      const names = seen.rawHeaders.filter((name) => name.toLowerCase() === 'content-length');
      expect(names).toHaveLength(1);
      expect(seen.headers['content-length']).toBe(String(translated.length));
      expect(seen.headers['transfer-encoding']).toBeUndefined();
      expect(picker.scheduler.requests[0]?.model).toBe('a-much-longer-name');
    });

    test('a cleared route cache does not bring other routes to the picker', async () => {
      const gateway = await startAi();
      for (let i = 0; i < 50; i++) {
        const response = await fetch(`${gateway.url}/other`, { method: 'POST', body: 'x' });
        expect(response.status).toBe(200);
        await response.text();
      }
      expect(await gateway.stat('http.gateway.ext_proc.gateway_processor.streams_started')).toBe(
        50,
      );
      expect(await pickerStreams(gateway)).toBe(0);
    });
  });
});
