import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { grpcSink } from '@leadsman/link';
import { createLogger, readConfig } from '@leadsman/service';
import { waitUntil } from '@leadsman/testing';
import type { EndpointJson } from '@leadsman/view/endpoint-json';
import { podKeyFromUid, podKeyText, reason } from '@leadsman/wire';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  attributesRecord,
  goneRecord,
  ranksRecord,
  reportRecord,
  type SampleRecord,
  SampleSender,
} from '../sample-frame.ts';
import { collectorConfigShape } from './config.ts';
import { type CollectorService, startCollector } from './start-collector.ts';

const logger = createLogger({ name: 'collector', level: 'silent' });

let service: CollectorService;
let sink: ReturnType<typeof grpcSink>;
const sender = new SampleSender();

beforeEach(async () => {
  const argv = ['--admin-host', '127.0.0.1', '--grpc-host', '127.0.0.1', '--endpoint-metrics'];
  const env = { LEADSMAN_ADMIN_PORT: '0', LEADSMAN_GRPC_PORT: '0' };
  const config = readConfig(collectorConfigShape, { argv, env, name: 'collector' });
  service = await startCollector(config, logger);
  sink = grpcSink({ targets: [service.grpcAddress] });
  await waitUntil(() => sink.connected, { what: 'the direct stream' });
});

afterEach(async () => {
  await sink.close();
  await service.stop();
});

const get = (path: string) => fetch(`http://${service.adminAddress}${path}`);

async function endpoints(): Promise<(EndpointJson & { ranks: unknown[] })[]> {
  return ((await (await get('/v1/endpoints')).json()) as { endpoints: never[] }).endpoints;
}

/** Repeats a frame, as senders do, until the view has as many endpoints as expected. */
async function send(records: SampleRecord[], expected: number) {
  await waitUntil(
    async () => {
      sink.send(sender.frame(records));
      return (await endpoints()).length === expected;
    },
    { what: `${expected} endpoints` },
  );
}

test('endpoints as JSON: numbers with their state and age, unknown is null', async () => {
  await send(
    [
      reportRecord({ uid: 'pod-a', value: 3, ageMs: 25, engineRanks: 2 }),
      attributesRecord({ uid: 'pod-a', podName: 'engine-0', models: ['tiny'], loraRunning: [] }),
      ranksRecord({ uid: 'pod-a' }, [2, 1]),
      reportRecord({ uid: 'pod-b', value: Number.NaN, reason: reason.noSeries }),
    ],
    2,
  );
  const [a, b] = await endpoints();
  expect(a).toMatchObject({
    podName: 'engine-0',
    destination: '10.0.0.7:8000',
    state: 'fresh',
    reason: 'ok',
    waitingRequests: 3,
    models: ['tiny'],
    loraRunning: [],
    loraWaiting: null,
    ranks: [
      { rank: 0, waitingRequests: 2, kvCacheUsageRatio: null },
      { rank: 1, waitingRequests: 1 },
    ],
  });
  expect(a!.ageMs).toBeGreaterThanOrEqual(25);
  expect(b).toMatchObject({
    podName: null,
    state: 'unknown',
    reason: 'no_series',
    ageMs: null,
    runningRequests: null,
    kvCacheUsageRatio: null,
  });
});

test('it is ready when the feed is whole, and says what is missing before', async () => {
  const early = await get('/readyz');
  expect([early.status, await early.text()]).toEqual([503, expect.stringMatching(/connected/)]);
  await waitUntil(async () => (await get('/readyz')).status === 200, { what: 'readiness' });
  expect((await get('/healthz')).status).toBe(200);
});

test('gauges of an endpoint are on /metrics while it is in the view', async () => {
  const uid = podKeyText(podKeyFromUid('pod-a'));
  const labels = `{namespace="default",pod="engine-0",uid="${uid}",port="8000"}`;
  const line = `leadsman_endpoint_running_requests${labels} 3`;
  const shown = async () => (await (await get('/metrics')).text()).includes(line);
  await send([reportRecord({ value: 3 }), attributesRecord()], 1);
  expect(await shown()).toBe(true);
  await send([goneRecord({ seq: 2 })], 0);
  expect(await shown()).toBe(false);
});

test('what was dropped and why is on /metrics', async () => {
  await send([reportRecord({ seq: 5 }), reportRecord({ seq: 5 }), reportRecord({ seq: 4 })], 1);
  const counted = [
    /leadsman_collector_reports_total\{result="applied"\} 1\n/,
    /leadsman_collector_reports_total\{result="duplicate"\} [1-9]/,
    /leadsman_collector_reports_total\{result="older"\} [1-9]/,
    /leadsman_collector_frames_bad_total\{reason="magic"\} [1-9]/,
  ];
  await waitUntil(
    async () => {
      sink.send(new Uint8Array(100));
      const text = await (await get('/metrics')).text();
      return counted.every((line) => line.test(text));
    },
    { what: 'the counters' },
  );
});

test('a start that fails leaves nothing behind', async () => {
  const listeners = () =>
    process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap').length;
  const before = listeners();
  const adminPort = Number(service.adminAddress.split(':')[1]);
  const taken = { adminHost: '127.0.0.1', adminPort, grpcHost: '127.0.0.1', grpcPort: 0 };
  const start = startCollector(collectorConfigShape.parse(taken), logger);
  await expect(start).rejects.toThrow('EADDRINUSE');
  await waitUntil(() => listeners() === before, { what: 'the gRPC port to be given back' });
});

test('endpoints are told to service accounts alone, where an audience is given', async () => {
  const api = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => {
      text += chunk;
    });
    request.on('end', () => {
      const { token, audiences } = JSON.parse(text).spec;
      const status =
        token === 'of-an-account'
          ? {
              authenticated: true,
              audiences,
              user: { username: 'system:serviceaccount:ops:person' },
            }
          : { authenticated: false };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ kind: 'TokenReview', status }));
    });
  });
  await new Promise<void>((ready) => api.listen(0, '127.0.0.1', ready));
  const folder = await mkdtemp(join(tmpdir(), 'leadsman-collector-'));
  const { port } = api.address() as AddressInfo;
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(
    kubeconfig,
    JSON.stringify({
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [
        {
          name: 'c',
          cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true },
        },
      ],
      users: [{ name: 'u', user: {} }],
    }),
  );
  const argv = [
    '--admin-host',
    '127.0.0.1',
    '--grpc-host',
    '127.0.0.1',
    '--kubeconfig',
    kubeconfig,
  ];
  argv.push('--admin-token-audience', 'leadsman');
  const env = { LEADSMAN_ADMIN_PORT: '0', LEADSMAN_GRPC_PORT: '0' };
  const config = readConfig(collectorConfigShape, { argv, env, name: 'collector' });
  const guarded = await startCollector(config, logger);
  try {
    const status = async (path: string, token?: string) => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      return (await fetch(`http://${guarded.adminAddress}${path}`, { headers })).status;
    };
    expect(await status('/v1/endpoints')).toBe(401);
    expect(await status('/v1/endpoints', 'of-nobody')).toBe(403);
    expect(await status('/v1/endpoints', 'of-an-account')).toBe(200);
    expect(await status('/metrics')).toBe(200);
  } finally {
    await guarded.stop();
    api.closeAllConnections();
    api.close();
    await rm(folder, { recursive: true });
  }
});
