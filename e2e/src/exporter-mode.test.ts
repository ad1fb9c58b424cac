/**
 * Exporter mode `auto`: sidecars change between their agent and NATS, in both directions, while
 * they report. Real NATS, a real agent process; the sidecars and a collector's ingest run here, so
 * that every single frame can be watched.
 *
 * Throughout no number that a reader sees may be older than two scrape intervals, sequences only
 * rise, and no report counts twice although both ways may carry it.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FrameIngest } from '@leadsman/collector';
import { connectNats, type NatsLink } from '@leadsman/link';
import { createLogger, monotonicMs } from '@leadsman/service';
import { type Sidecar, sidecarConfigShape, startSidecar } from '@leadsman/sidecar';
import {
  launchNats,
  launchService,
  type NatsServer,
  requireNats,
  type ServiceProcess,
  waitUntil,
} from '@leadsman/testing';
import { createView, feedState } from '@leadsman/view/layout';
import { ViewReader } from '@leadsman/view/reader';
import { ViewWriter } from '@leadsman/view/writer';
import { allFramesSubject } from '@leadsman/wire';
import { afterEach, describe, expect, it } from 'vitest';

const pods = 12;
const intervalMs = 300;
/** Collectors tick about this often, so that a pause of their thread is noticed. */
const tickMs = 100;
const watchEveryMs = 10;

const cleanUps: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

type Way = 'node' | 'pod';

/** Takes all frames into a view, and watches what a reader of it would see. */
class WatchedCollector {
  /** By which kind of sender each slot's newest report came. */
  readonly ways: Way[] = [];
  /** Oldest number seen, ms, the pauses of this process left out: it makes the reports as well. */
  worstAgeMs = 0;
  wentBack = 0;
  /** Reports that never became visible. */
  skipped = 0;
  distinct = 0;
  readonly ingest: FrameIngest;
  readonly #reader: ViewReader;
  readonly #seqs: number[] = [];
  /** Late turns of the watching timer: when, and by how much. */
  readonly #pauses: { atMs: number; lateMs: number }[] = [];
  #watchedMs = monotonicMs();

  constructor(link: NatsLink) {
    const view = createView({ slotsMax: 64 });
    this.#reader = new ViewReader(view);
    this.ingest = new FrameIngest({ writer: new ViewWriter(view), nowMs: monotonicMs() });
    link.subscribe(allFramesSubject('leadsman'), (bytes, subject) => {
      this.ingest.receive(bytes, monotonicMs());
      this.#look(subject.includes('.frames.node.') ? 'node' : 'pod');
    });
    const ticking = setInterval(() => this.#tick(), tickMs);
    const watching = setInterval(() => this.#watchAges(), watchEveryMs);
    cleanUps.push(async () => {
      clearInterval(ticking);
      clearInterval(watching);
    });
  }

  all(way: Way): boolean {
    return this.ways.length === pods && this.ways.every((each) => each === way);
  }

  /** What came before was the start. */
  begin(): void {
    this.worstAgeMs = 0;
    this.skipped = 0;
  }

  /** Whether every pod has reported a few times. */
  get steady(): boolean {
    return this.#seqs.length === pods && this.#seqs.every((seq) => seq >= 4);
  }

  #tick(): void {
    this.ingest.tick(monotonicMs(), feedState.synced);
  }

  #look(way: Way): void {
    const reader = this.#reader;
    reader.refresh();
    for (let i = 0; i < reader.changedCount; i++) {
      const slot = reader.changed[i] as number;
      const seq = reader.seq(slot);
      const before = this.#seqs[slot] ?? 0;
      if (seq < before) this.wentBack++;
      if (seq === before) continue;
      if (before > 0) this.skipped += Math.max(0, seq - before - 1);
      this.#seqs[slot] = seq;
      this.ways[slot] = way;
      this.distinct++;
    }
  }

  #watchAges(): void {
    const nowMs = monotonicMs();
    this.#pauses.push({ atMs: nowMs, lateMs: nowMs - this.#watchedMs - watchEveryMs });
    this.#watchedMs = nowMs;
    while ((this.#pauses[0]?.atMs ?? nowMs) < nowMs - 2 * intervalMs) this.#pauses.shift();
    if (this.#reader.slots < pods) return;
    const pausedMs = this.#pauses.reduce((sum, pause) => sum + Math.max(0, pause.lateMs), 0);
    for (let slot = 0; slot < this.#reader.slots; slot++) {
      const ageMs = nowMs - this.#reader.measuredAtMs(slot) - pausedMs;
      this.worstAgeMs = Math.max(this.worstAgeMs, ageMs);
    }
  }
}

/** A page that a busy engine would give: its numbers differ at each scrape. */
async function engines(): Promise<string> {
  let scrapes = 0;
  const server = createServer((_, reply) => {
    scrapes++;
    const labels = '{engine="0",model_name="m"}';
    reply.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' });
    reply.end(
      [
        '# TYPE vllm:num_requests_running gauge',
        `vllm:num_requests_running${labels} ${1 + (scrapes % 50)}`,
        '# TYPE vllm:num_requests_waiting gauge',
        `vllm:num_requests_waiting${labels} 2`,
        '# TYPE vllm:kv_cache_usage_perc gauge',
        `vllm:kv_cache_usage_perc${labels} 0.5`,
        '# TYPE vllm:generation_tokens_total counter',
        `vllm:generation_tokens_total${labels} ${scrapes}`,
        '',
      ].join('\n'),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`;
}

async function agent(nats: NatsServer, port = 0): Promise<ServiceProcess> {
  const started = await launchService({
    service: 'node-agent',
    name: 'agent',
    flags: {
      'node-name': 'node-a',
      'admin-host': '127.0.0.1',
      'admin-port': port,
      'nats-url': nats.url,
    },
    listeners: ['reports'],
  });
  cleanUps.push(() => started.stop());
  return started;
}

async function sidecar(index: number, page: string, agentUrl: string, nats: NatsServer) {
  const config = sidecarConfigShape.parse({
    targets: [`8000=${page}`],
    podUid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    podName: `engine-${index}`,
    podNamespace: 'test',
    podIp: '127.0.0.1',
    nodeName: 'node-a',
    scrapeIntervalMs: intervalMs,
    idleIntervalMs: intervalMs,
    // The page costs nothing here: a slow first scrape on a busy machine must not set the pace.
    scrapeShare: 1,
    exporterMode: 'auto',
    agentUrl,
    natsUrl: [nats.url],
    adminHost: '127.0.0.1',
    adminPort: 0,
  });
  const started: Sidecar = await startSidecar(config, {
    logger: createLogger({ name: 'test', level: 'silent' }),
  });
  cleanUps.push(() => started.stop());
}

async function system() {
  const nats = await launchNats();
  cleanUps.push(() => nats.stop());
  const link = connectNats({ servers: [nats.url], name: 'collector' });
  cleanUps.push(() => link.close());
  const collector = new WatchedCollector(link);
  await waitUntil(() => link.connected, { what: 'the collector to connect' });
  const page = await engines();
  const first = await agent(nats);
  const address = first.addresses.reports ?? '';
  for (let i = 0; i < pods; i++) await sidecar(i, page, `http://${address}`, nats);
  const by = (way: Way) =>
    waitUntil(() => collector.all(way), { what: `all reports by ${way}`, deadlineMs: 20_000 });
  await by('node');
  await waitUntil(() => collector.steady, { what: 'a few reports of each pod' });
  const port = Number(address.slice(address.lastIndexOf(':') + 1));
  return { nats, collector, by, first, port };
}

function mustHaveBeenSmooth(collector: WatchedCollector, skippedMax: number): void {
  expect(collector.skipped).toBeLessThanOrEqual(skippedMax);
  expect(collector.wentBack).toBe(0);
  expect(collector.ingest.counters.appliedReports).toBe(collector.distinct);
  expect(collector.worstAgeMs).toBeLessThanOrEqual(2 * intervalMs);
}

describe.skipIf(!requireNats())('exporter mode auto', () => {
  it('goes from the agent to NATS and back without a gap', async () => {
    const { nats, collector, by, first, port } = await system();
    collector.begin();
    await first.stop();
    await by('pod');
    await agent(nats, port);
    await by('node');
    mustHaveBeenSmooth(collector, 0);
  }, 120_000);

  it('outlives an agent that is killed', async () => {
    const { nats, collector, by, first, port } = await system();
    collector.begin();
    first.process.kill('SIGKILL');
    await by('pod');
    await agent(nats, port);
    await by('node');
    // What it took in its last 10 ms went with it.
    mustHaveBeenSmooth(collector, pods);
  }, 120_000);

  it('counts no report twice that came on both ways', async () => {
    const { collector, by, first } = await system();
    // Each hand-over repeats what is known, as keyframes of the new way.
    const before = collector.ingest.counters.duplicateReports;
    await first.stop();
    await by('pod');
    await waitUntil(() => collector.ingest.counters.duplicateReports > before, {
      what: 'repetitions',
    });
    expect(collector.ingest.counters.appliedReports).toBe(collector.distinct);
  }, 120_000);
});
