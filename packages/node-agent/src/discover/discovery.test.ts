import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeClient, kubeconfigAccess, targetAnnotations } from '@leadsman/kube';
import { monotonicMs } from '@leadsman/service';
import { FakeApiServer, podObject, waitUntil } from '@leadsman/testing';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Collected } from '../batch/frames.fixture.ts';
import { Discovery, registerDiscoveryMetrics } from './discovery.ts';
import { podFacts } from './pod-facts.ts';
import { PodScrapes } from './pod-scrapes.ts';

const cleanUps: (() => Promise<unknown>)[] = [];
let api: FakeApiServer;
let port: number;

beforeEach(async () => {
  api = new FakeApiServer();
  await api.start();
  cleanUps.push(() => api.stop());
  const engine = createServer((_, reply) => {
    reply.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' });
    reply.end('vllm:num_requests_running{engine="0",model_name="m"} 3\n');
  });
  await new Promise<void>((resolve) => engine.listen(0, '127.0.0.1', resolve));
  port = (engine.address() as AddressInfo).port;
  cleanUps.push(async () => {
    engine.closeAllConnections();
    await new Promise((resolve) => engine.close(resolve));
  });
});

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const uidOf = (n: number) => `00000000-0000-4000-8000-00000000000${n}`;

function annotated(n: number, facts: object = {}) {
  return podObject({
    name: `engine-${n}`,
    uid: uidOf(n),
    ip: '127.0.0.1',
    node: 'node-1',
    annotations: { [targetAnnotations.port]: String(port) },
    ...facts,
  });
}

async function discover(
  options: { selector?: string; targetsMax?: number; refuses?: (frames: number) => boolean } = {},
) {
  const got = new Collected();
  let frames = 0;
  const errors: string[] = [];
  const scrapes = new PodScrapes({
    nodeName: 'node-1',
    intervalMs: 10,
    targetsMax: options.targetsMax ?? 16,
    sender: { id: new Uint8Array(16), epoch: 1 },
    take: (frame) => {
      if (options.refuses?.(++frames) !== true) got.add(frame);
    },
    nowMs: monotonicMs,
    unixMs: Date.now,
    random: () => 0.5,
    onError: (_, pod) => errors.push(pod),
  });
  const discovery = new Discovery({
    client: new KubeClient(await kubeconfigAccess({ text: api.kubeconfig })),
    nodeName: 'node-1',
    selector: options.selector ?? '',
    portDefault: port,
    scrapes,
    logger: { info: () => undefined, warn: () => undefined, error: () => undefined },
    random: () => 0.5,
  });
  discovery.start();
  cleanUps.push(() => discovery.stop());
  await waitUntil(() => discovery.listed, { what: 'the list' });
  return { got, scrapes, discovery, errors };
}

const until = (what: string, probe: () => boolean) => waitUntil(probe, { what });

describe('pods without a sidecar', () => {
  it('are scraped when they say so, ready or not, and only on this node', async () => {
    api.put('Pod', annotated(1, { ready: false }));
    api.put('Pod', annotated(2, { node: 'node-2' }));
    api.put('Pod', podObject({ name: 'web', uid: uidOf(3), ip: '127.0.0.1', node: 'node-1' }));
    const { got, scrapes, discovery } = await discover();
    await until('a report', () => got.report(uidOf(1)) !== undefined);
    expect([...got.reports.keys()]).toEqual([uidOf(1)]);
    expect(scrapes.size).toBe(1);
    expect(discovery.podsWithoutSidecar).toBe(1);
    await until('its attributes', () => got.attributes.has(uidOf(1)));
  });

  it('have their attributes repeated, as the batcher may have refused them', async () => {
    api.put('Pod', annotated(1));
    const { got } = await discover({ refuses: (frames) => frames <= 3 });
    await until('a report', () => got.report(uidOf(1)) !== undefined);
    await until('its attributes', () => got.attributes.has(uidOf(1)));
  });

  it('are found by a label selector, at the default port', async () => {
    api.put(
      'Pod',
      podObject({
        name: 'engine-1',
        uid: uidOf(1),
        ip: '127.0.0.1',
        node: 'node-1',
        labels: { app: 'llm' },
      }),
    );
    api.put('Pod', annotated(2));
    const { got } = await discover({ selector: 'app=llm' });
    await until('a report', () => got.report(uidOf(1)) !== undefined);
    expect([...got.reports.keys()]).toEqual([uidOf(1)]);
  });

  it('are withdrawn when they end, and taken up when they come', async () => {
    const { got, scrapes } = await discover();
    api.put('Pod', annotated(1));
    await until('a report', () => got.report(uidOf(1)) !== undefined);
    api.put('Pod', annotated(1, { phase: 'Failed' }));
    await until('the last word', () => got.gone.has(uidOf(1)));
    expect(got.gone.get(uidOf(1))).toBeGreaterThan(got.report(uidOf(1))?.seq ?? 0);
    expect(scrapes.size).toBe(0);
    api.put('Pod', annotated(2));
    await until('the other', () => got.report(uidOf(2)) !== undefined);
    api.remove('Pod', 'default', 'engine-2');
    await until('its last word', () => got.gone.has(uidOf(2)));
  });

  it('are bounded, and one that cannot be scraped does not end the others', async () => {
    api.put(
      'Pod',
      annotated(1, {
        annotations: {
          [targetAnnotations.port]: String(port),
          [targetAnnotations.engine]: 'unheard-of',
        },
      }),
    );
    api.put('Pod', annotated(2));
    api.put('Pod', annotated(3));
    const { got, scrapes, discovery, errors } = await discover({ targetsMax: 1 });
    await until('a report', () => got.reports.size === 1);
    expect(errors).toEqual(['default/engine-1']);
    expect(scrapes.refusedTargets).toBe(2);
    const registry = new Registry();
    registerDiscoveryMetrics(registry, discovery, scrapes);
    const text = await registry.metrics();
    expect(text).toContain('leadsman_node_agent_no_sidecar_pods 3');
    expect(text).toContain('leadsman_node_agent_scraped_targets 1');
    expect(text).toMatch(/leadsman_node_agent_scrapes_total\{outcome="ok"\} \d/);
    expect(text).toMatch(/leadsman_node_agent_pages_total\{way="whole"\} [1-9]/);
    expect(text).toMatch(/leadsman_node_agent_page_bytes_total\{way="whole"\} [1-9]/);
  });
});

describe('the facts of a pod', () => {
  const meta = { name: 'p', namespace: 'n', uid: uidOf(1), resourceVersion: '1' };
  const annotations = { [targetAnnotations.port]: '8000,8001', [targetAnnotations.path]: '/m' };
  const status = { phase: 'Running', podIP: 'fd00::7' };

  it('name a target per port, IPv6 in brackets', () => {
    const pod = { metadata: { ...meta, annotations }, spec: {}, status };
    expect(podFacts(pod, false, 8000)?.targets).toEqual([
      { port: 8000, url: 'http://[fd00::7]:8000/m', engine: 'auto' },
      { port: 8001, url: 'http://[fd00::7]:8001/m', engine: 'auto' },
    ]);
  });

  it('know a sidecar among containers and init containers', () => {
    for (const kind of ['containers', 'initContainers']) {
      const spec = { [kind]: [{ name: 'engine' }, { name: 'leadsman-sidecar' }] };
      const facts = podFacts(
        { metadata: { ...meta, annotations }, spec, status } as never,
        false,
        1,
      );
      expect(facts).toMatchObject({ hasSidecar: true, targets: [] });
    }
  });

  it('are nobody\u2019s when a pod does not ask', () => {
    expect(podFacts({ metadata: meta, status } as never, false, 8000)).toBeUndefined();
  });

  it('have no target while there is no address, or when the pod leaves', () => {
    const metadata = { ...meta, annotations };
    const leaving = { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
    expect(podFacts({ metadata, status: {} } as never, false, 1)?.targets).toEqual([]);
    expect(podFacts({ metadata: leaving, status } as never, false, 1)?.targets).toEqual([]);
  });
});
