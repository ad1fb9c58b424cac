import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connectNats, type FrameAnswer, natsSource, serveFrameStreams } from '@leadsman/link';
import { createLogger } from '@leadsman/service';
import { launchNats, requireNats, startEngineSimulator, waitUntil } from '@leadsman/testing';
import {
  allFramesSubject,
  decodeAttributes,
  decodeGone,
  FrameReader,
  frameKind,
  metric,
  type Report,
  readReport,
  reason,
  recordType,
} from '@leadsman/wire';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { sidecarConfigShape } from './config/config.ts';
import type { Interfaces } from './pod-address.ts';
import { type Sidecar, startSidecar } from './start-sidecar.ts';

const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** Takes frames apart and keeps what they said. */
class Received {
  readonly reports: Report[] = [];
  readonly models: string[] = [];
  readonly versions: string[] = [];
  keyframes = 0;
  gone = 0;
  readonly #reader = new FrameReader();

  add(frame: Uint8Array): void {
    const reader = this.#reader;
    reader.load(frame);
    if (reader.kind === frameKind.keyframe) this.keyframes++;
    while (reader.next()) {
      const bytes = reader.bytes.slice(reader.offset, reader.offset + reader.length);
      if (reader.type === recordType.report) {
        this.reports.push(readReport(bytes));
      }
      if (reader.type === recordType.attributes) {
        const { models, engineVersion } = decodeAttributes(bytes);
        this.models.push(...models);
        this.versions.push(engineVersion);
      }
      if (reader.type === recordType.gone) this.gone += decodeGone(bytes).seq > 0 ? 1 : 0;
    }
  }
}

/** A node agent that answers as it is told, and keeps what it accepted. */
async function startAgent() {
  const agent = {
    answer: 'accepted' as FrameAnswer,
    received: new Received(),
    url: '',
    stop: async () => {},
  };
  const server = createServer();
  const streams = serveFrameStreams(server, {
    frameBytesMax: 65_536,
    take: (frame) => {
      if (agent.answer === 'accepted') agent.received.add(frame);
      return agent.answer;
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  agent.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  agent.stop = () =>
    new Promise((resolve) => {
      streams.close();
      server.close(() => resolve());
    });
  cleanUps.push(() => agent.stop());
  return agent;
}

async function startEngine(): Promise<Awaited<ReturnType<typeof startEngineSimulator>>> {
  const engine = await startEngineSimulator({ modelName: 'house/model', ranks: 2 });
  cleanUps.push(() => engine.stop());
  return engine;
}

const logger = createLogger({ name: 'test', level: 'silent' });

async function start(
  options: Record<string, unknown>,
  interfaces: Interfaces = {},
): Promise<Sidecar> {
  const config = sidecarConfigShape.parse({
    adminHost: '127.0.0.1',
    adminPort: 0,
    podUid: 'pod-1',
    podName: 'llama-0',
    podIp: '127.0.0.1',
    ...options,
  });
  const sidecar = await startSidecar(config, { logger, interfaces });
  cleanUps.push(() => sidecar.stop());
  return sidecar;
}

async function get(sidecar: Sidecar, path: string): Promise<{ status: number; text: string }> {
  const reply = await fetch(`http://${sidecar.address}${path}`);
  return { status: reply.status, text: await reply.text() };
}

const until = (what: string, probe: () => boolean | Promise<boolean>) => waitUntil(probe, { what });

describe('the sidecar', () => {
  it('hands reports to its agent, a keyframe each second, and says goodbye', async () => {
    const engine = await startEngine();
    const agent = await startAgent();
    const sidecar = await start({
      targets: [`8000=${engine.url}/metrics`],
      agentUrl: agent.url,
      exporterMode: 'node',
    });
    const { received } = agent;
    await until('reports and keyframes', () => {
      return received.reports.length >= 5 && received.keyframes >= 2;
    });
    expect(received.models).toContain('house/model');
    await until('the version', () => received.versions.at(-1) === '0.11.0');
    const report = received.reports.at(-1);
    expect(report).toMatchObject({ reason: reason.ok, port: 8_000, engineRanks: 2 });
    expect(report?.metrics[metric.runningRequests]).toBe(0);
    expect(report?.ageMs).toBeLessThan(1_000);
    await sidecar.stop();
    cleanUps.pop();
    expect(received.gone).toBe(1);
  });

  it('loses the news of no engine, though all of them report at once', async () => {
    const engine = await startEngine();
    const agent = await startAgent();
    const ports = [8_000, 8_001, 8_002, 8_003];
    await start({
      targets: ports.map((port) => `${port}=${engine.url}/metrics`),
      agentUrl: agent.url,
      exporterMode: 'node',
      scrapeIntervalMs: 20,
      idleIntervalMs: 20,
    });
    const seqsOf = (port: number) => [
      ...new Set(agent.received.reports.filter((one) => one.port === port).map(({ seq }) => seq)),
    ];
    await until('reports of each', () => ports.every((port) => seqsOf(port).length >= 10));
    for (const port of ports) {
      const [first = 0, ...rest] = seqsOf(port);
      expect(rest).toEqual(rest.map((_, i) => first + 1 + i));
    }
  });

  it('shows what it knows: snapshot, metrics and probes', async () => {
    const engine = await startEngine();
    const sidecar = await start({ targets: [`8000=${engine.url}/metrics`], exporterMode: 'pod' });
    await until('a scrape', () => sidecar.targets[0]?.state.reading !== undefined);
    await until('the version', () => sidecar.targets[0]?.state.engineVersion !== '');
    await until('scrapes by name', () => sidecar.targets[0]?.way.way === 'by_name');
    const snapshot = JSON.parse((await get(sidecar, '/snapshot')).text);
    expect(snapshot.exporter).toMatchObject({ mode: 'pod', path: 'none' });
    expect(snapshot.targets[0]).toMatchObject({
      podName: 'llama-0',
      port: 8_000,
      state: 'fresh',
      reason: 'ok',
      engine: 'vllm',
      engineVersion: '0.11.0',
      models: ['house/model'],
      metrics: { runningRequests: 0, swappedRequests: null },
      scrapes: { way: 'by_name', whyNotByName: null },
    });
    const { wholeBytes, byNameBytes } = snapshot.targets[0].scrapes;
    expect(byNameBytes).toBeLessThan(wholeBytes / 4);
    const { text } = await get(sidecar, '/metrics');
    expect(text).toMatch(/^leadsman_sidecar_scrapes_total\{outcome="ok"\} [1-9]/m);
    expect(text).toMatch(/^leadsman_sidecar_pages_total\{way="whole"\} [1-9]/m);
    expect(text).toMatch(/^leadsman_sidecar_page_bytes_total\{way="by_name"\} [1-9]/m);
    expect(text).toMatch(/^leadsman_sidecar_by_name_refused_total 0$/m);
    expect(text).toMatch(/^leadsman_engine_by_name\{port="8000",engine="vllm"\} 1$/m);
    expect(text).toMatch(/^leadsman_sidecar_version_failures_total 0$/m);
    expect(text).toMatch(/^leadsman_engine_running_requests\{port="8000",engine="vllm"\} 0$/m);
    expect(text).not.toMatch(/^leadsman_engine_swapped_requests\{/m);
    // Base units and types, whatever a report has.
    const [, intervalS] = /^leadsman_engine_scrape_interval_seconds\{.*\} (.+)$/m.exec(text) ?? [];
    // Between 50 ms and a second.
    expect(Number(intervalS)).toBeLessThanOrEqual(1);
    expect(text).toMatch(/^leadsman_engine_age_seconds\{.*\} \d/m);
    expect(text).toMatch(/^# TYPE leadsman_engine_prompt_tokens_total counter$/m);
    expect(text).not.toMatch(/^leadsman_\w+_ms\b/m);
    expect((await get(sidecar, '/readyz')).status).toBe(200);
    expect((await get(sidecar, '/healthz')).status).toBe(200);
  });

  it('reports the address of its only interface when none is given', async () => {
    const eth0 = {
      address: '10.0.0.7',
      netmask: '255.0.0.0',
      family: 'IPv4' as const,
      mac: '',
      internal: false,
      cidr: null,
    };
    const options = { podIp: '', podUid: '', podName: '', enginePorts: [1] };
    const sidecar = await start(options, { eth0: [eth0] });
    expect(sidecar.targets[0]?.state.report(0).address).toBe('10.0.0.7');
    // Sidecars without any identity must not be taken for each other.
    expect(sidecar.targets[0]?.state.identity.podUid).toBe('10.0.0.7:1');
    const warn = vi.spyOn(logger, 'warn');
    const alone = await start(options);
    expect(alone.targets[0]?.state.report(0).address).toBe('127.0.0.1');
    const said = warn.mock.calls.filter((call) => JSON.stringify(call).includes('--pod-ip'));
    warn.mockRestore();
    expect(said).toHaveLength(1);
    await expect(start({ ...options, engineHost: 'engine.test' })).rejects.toThrow(/pod-ip/);
  });

  it('shows how its own streams to collectors go', async () => {
    const sidecar = await start({
      targets: ['8000=http://127.0.0.1:1/metrics'],
      exporterMode: 'pod',
      collectorUrl: ['grpc://127.0.0.1:1'],
    });
    const streams = async () => (await get(sidecar, '/metrics')).text;
    await until('metrics of the streams', async () => {
      return /^leadsman_sidecar_push_streams 0$/m.test(await streams());
    });
    expect(await streams()).toMatch(/^leadsman_sidecar_push_connect_errors_total \d/m);
  });

  it('is ready, and says why it knows nothing, when no engine answers', async () => {
    const sidecar = await start({ targets: ['8000=http://127.0.0.1:1/metrics'] });
    await until('a failed scrape', () => sidecar.targets[0]?.state.reason === reason.connect);
    expect((await get(sidecar, '/readyz')).status).toBe(200);
    const snapshot = JSON.parse((await get(sidecar, '/snapshot')).text);
    expect(snapshot.targets[0]).toMatchObject({
      state: 'unreachable',
      reason: 'connect',
      ageMs: null,
    });
    expect(snapshot.targets[0].detail).toContain('127.0.0.1:1');
    expect(snapshot.targets[0].metrics.runningRequests).toBeNull();
  });

  it('does not start with an engine or a mapping that is not there', async () => {
    await expect(start({ engine: 'nonsense' })).rejects.toThrow(/unknown engine/);
    await expect(start({ engineMappingFile: '/nonexistent.yaml' })).rejects.toThrow(/nonexistent/);
  });
});

describe.skipIf(!requireNats())('exporter mode auto with NATS', () => {
  it('moves to NATS and back, a keyframe first', async () => {
    const nats = await launchNats();
    cleanUps.push(() => nats.stop());
    const link = connectNats({ servers: [nats.url], name: 'reader' });
    cleanUps.push(() => link.close());
    const published = new Received();
    natsSource(link, allFramesSubject('leadsman')).start((frame) => published.add(frame));
    const engine = await startEngine();
    const agent = await startAgent();
    const sidecar = await start({
      targets: [`8000=${engine.url}/metrics`],
      agentUrl: agent.url,
      natsUrl: [nats.url],
    });
    await until('the agent in use', () => agent.received.reports.length >= 3);
    expect(sidecar.exporter.ownOpen).toBe(false);
    expect(published.reports).toHaveLength(0);

    agent.answer = 'forward';
    await until('reports over NATS', () => published.reports.length >= 3);
    expect(sidecar.exporter.path).toBe('nats');

    agent.answer = 'accepted';
    const before = agent.received.reports.length;
    await until('the agent again', () => agent.received.reports.length >= before + 3);
    expect(sidecar.exporter.path).toBe('agent');

    const seen = new Set(
      [...agent.received.reports, ...published.reports].map(({ epoch, seq }) => `${epoch}/${seq}`),
    );
    const { epoch, seq } = agent.received.reports.at(-1) as Report;
    const first = Math.min(...agent.received.reports.map((report) => report.seq));
    const missing = Array.from({ length: seq - first + 1 }, (_, i) => first + i).filter(
      (one) => !seen.has(`${epoch}/${one}`),
    );
    // While the first connection to NATS is being made there is no way; a keyframe follows it.
    expect(missing.length).toBeLessThan(8);
    expect(sidecar.exporter.counters.handOvers).toBeGreaterThanOrEqual(3);
  });
});
