/** The collector on a real NATS server that dies, and beside a subscriber that stands still. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectNats, type NatsLink, natsSink, natsSource } from '@leadsman/link';
import { createLogger, monotonicMs, readConfig } from '@leadsman/service';
import {
  launchNats,
  launchProcess,
  launchService,
  type NatsServer,
  waitUntil,
} from '@leadsman/testing';
import type { EndpointJson } from '@leadsman/view/endpoint-json';
import { createView } from '@leadsman/view/layout';
import { ViewReader } from '@leadsman/view/reader';
import { ViewWriter } from '@leadsman/view/writer';
import { allFramesSubject, nodeFramesSubject } from '@leadsman/wire';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FrameIngest } from '../ingest/frame-ingest.ts';
import { reportRecord, SampleSender } from '../sample-frame.ts';
import { collectorConfigShape } from './config.ts';
import { startCollector } from './start-collector.ts';

const stops: (() => Promise<unknown>)[] = [];
let nats: NatsServer;

beforeEach(async () => {
  nats = await launchNats();
  stops.push(() => nats.stop());
});

afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

function connect(name: string): NatsLink {
  const link = connectNats({ servers: [nats.url], name });
  stops.push(() => link.close());
  return link;
}

/** An agent that states a new sequence every `everyMs` until the test ends. */
function startAgent(pods: number, everyMs: number) {
  const link = connect('agent');
  const sink = natsSink(link, nodeFramesSubject('leadsman', 'node-a'));
  const sender = new SampleSender();
  const agent = { seq: 0, link };
  const timer = setInterval(() => {
    const seq = ++agent.seq;
    const records = Array.from({ length: pods }, (_, i) =>
      reportRecord({ uid: `pod-${i}`, seq, value: monotonicMs() }),
    );
    sink.send(sender.frame(records));
  }, everyMs);
  stops.push(async () => clearInterval(timer));
  return agent;
}

/** The newest sequence numbers that a collector shows, and how long ago each came. */
async function shown(adminAddress: string) {
  const response = await fetch(`http://${adminAddress}/v1/endpoints`);
  const { endpoints } = (await response.json()) as { endpoints: EndpointJson[] };
  return endpoints.map(({ runningRequests, receivedMsAgo, state }) => ({
    sentMs: runningRequests ?? 0,
    receivedMsAgo,
    state,
  }));
}

test('a dead broker ages the view, empties nothing, and what was said meanwhile stays unsaid', async () => {
  const argv = ['--admin-host', '127.0.0.1', '--grpc-host', '127.0.0.1', '--nats-url', nats.url];
  const env = {
    LEADSMAN_ADMIN_PORT: '0',
    LEADSMAN_GRPC_PORT: '0',
    LEADSMAN_EXPIRE_AFTER_MS: '2000',
    LEADSMAN_STALE_AFTER_MS: '500',
  };
  const config = readConfig(collectorConfigShape, { argv, env, name: 'collector' });
  const logger = createLogger({ name: 'collector', level: 'silent' });
  const collector = await startCollector(config, logger);
  stops.push(() => collector.stop());
  startAgent(4, 50);
  const { adminAddress } = collector;
  const states = async () => (await shown(adminAddress)).map((one) => one.state).join();
  await waitUntil(async () => (await states()) === 'fresh,fresh,fresh,fresh', { what: 'all pods' });

  const { client: port } = nats.ports;
  await nats.stop();
  await waitUntil(async () => (await states()) === 'stale,stale,stale,stale', { what: 'old pods' });
  // Longer than the expiry: a broker's death must not look like that of all pods.
  await waitUntil(async () => (await shown(adminAddress))[0]!.receivedMsAgo > 2_500, {
    what: 'the outage to last longer than the expiry',
  });
  expect(await states()).toBe('stale,stale,stale,stale');

  const restartedMs = monotonicMs();
  nats = await launchNats({ port });
  await waitUntil(async () => (await states()) === 'fresh,fresh,fresh,fresh', { what: 'a return' });
  for (const { sentMs } of await shown(adminAddress)) expect(sentMs).toBeGreaterThan(restartedMs);
});

test('a collector that stands still delays no other, and is up to date after it wakes', async () => {
  const launch = async (name: string) => {
    const service = await launchService({
      service: 'collector',
      name,
      flags: {
        'nats-url': nats.url,
        'admin-host': '127.0.0.1',
        'admin-port': 0,
        'grpc-host': '127.0.0.1',
        'grpc-port': 0,
        'log-level': 'info',
      },
      listeners: ['admin', 'grpc'],
    });
    stops.push(() => service.stop());
    return service;
  };
  const [stopped, live] = await Promise.all([launch('collector 1'), launch('collector 2')]);
  // 75 pods: a frame of 20 KB, every 20 ms.
  startAgent(75, 20);
  const count = async (address: string) => (await shown(address)).length;
  await waitUntil(async () => (await count(stopped.addresses.admin!)) === 75, { what: 'pods' });

  stopped.process.kill('SIGSTOP');
  const untilMs = monotonicMs() + 12_000;
  let looks = 0;
  let worstMs = 0;
  await waitUntil(
    async () => {
      const ages = (await shown(live.addresses.admin!)).map((one) => one.receivedMsAgo);
      looks++;
      worstMs = Math.max(worstMs, ...ages);
      return monotonicMs() > untilMs;
    },
    { what: '12 s', deadlineMs: 20_000, intervalMs: 100 },
  );
  expect(looks).toBeGreaterThan(10);
  expect(worstMs).toBeLessThan(2_000);

  const wokenMs = monotonicMs();
  stopped.process.kill('SIGCONT');
  await waitUntil(
    async () =>
      (await shown(stopped.addresses.admin!)).every(
        (one) => one.state === 'fresh' && one.sentMs > wokenMs,
      ),
    { what: 'the woken collector to show what was said since' },
  );
});

test('a collector whose user may not subscribe is not ready, and says why', async () => {
  const { client: port } = nats.ports;
  await nats.stop();
  const permissions = 'permissions: { subscribe: "other.>" }';
  nats = await launchNats({
    port,
    config: `authorization { users: [{ user: a, password: b, ${permissions} }] }`,
  });
  const folder = await mkdtemp(join(tmpdir(), 'leadsman-collector-'));
  stops.push(() => rm(folder, { recursive: true }));
  const passwordFile = join(folder, 'password');
  await writeFile(passwordFile, 'b');
  const argv = ['--admin-host', '127.0.0.1', '--grpc-host', '127.0.0.1', '--nats-url', nats.url];
  const env = {
    LEADSMAN_ADMIN_PORT: '0',
    LEADSMAN_GRPC_PORT: '0',
    LEADSMAN_NATS_USER: 'a',
    LEADSMAN_NATS_PASSWORD_FILE: passwordFile,
  };
  const config = readConfig(collectorConfigShape, { argv, env, name: 'collector' });
  const logger = createLogger({ name: 'collector', level: 'silent' });
  const collector = await startCollector(config, logger);
  stops.push(() => collector.stop());
  const get = async (path: string) =>
    (await fetch(`http://${collector.adminAddress}${path}`)).text();
  await waitUntil(async () => /refuses the subscription/.test(await get('/readyz')), {
    what: 'the reason',
  });
  expect(await get('/metrics')).toMatch(/^leadsman_collector_nats_permission_errors_total [1-9]/m);

  await nats.stop();
  nats = await launchNats({
    port,
    config: 'authorization { users: [{ user: a, password: b }] }',
  });
  await waitUntil(async () => !/refuses|connect/.test(await get('/readyz')), {
    what: 'readiness with the permission',
    deadlineMs: 20_000,
  });
});

test('a handler slower than its input drops what waited, and the view stays young', async () => {
  const link = connect('slow collector');
  const view = createView({ slotsMax: 128 });
  const ingest = new FrameIngest({ writer: new ViewWriter(view), nowMs: monotonicMs() });
  const reader = new ViewReader(view);
  const lags: number[] = [];
  const block = new Int32Array(new SharedArrayBuffer(4));
  natsSource(link, allFramesSubject('leadsman')).start((frame) => {
    ingest.receive(frame, monotonicMs());
    reader.refresh();
    lags.push(monotonicMs() - reader.numberOf(0, 0));
    Atomics.wait(block, 0, 0, 50);
  });
  await waitUntil(() => link.connected, { what: 'a connection' });
  // 200 frames of 20 KB each second from another process, ten times what the handler can take.
  const agent = await launchAgentProcess(nats.url);
  stops.push(agent);
  const memory = process.memoryUsage().rss;
  const sinceMs = monotonicMs();
  await waitUntil(() => link.counters.droppedLate > 800, {
    what: 'late frames to be dropped',
    deadlineMs: 40_000,
  });
  // Without bounds what is handled now would have waited for nearly all of the overload.
  expect(Math.max(...lags.slice(-20))).toBeLessThan((monotonicMs() - sinceMs) / 2);
  expect(process.memoryUsage().rss - memory).toBeLessThan(64e6);
});

/** The agent in its own process, as this one's event loop is kept busy on purpose. */
async function launchAgentProcess(url: string): Promise<() => Promise<unknown>> {
  const agent = await launchProcess({
    name: 'agent',
    command: process.execPath,
    args: [new URL('./busy-agent.ts', import.meta.url).pathname, url],
  });
  return () => agent.stop(0);
}
