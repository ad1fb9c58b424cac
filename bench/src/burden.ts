/**
 * `npm run bench -- burden`: what knowing one engine costs that engine, when 1, 3 and 10 picker
 * replicas want to know it.
 *
 * Ours: its sidecar scrapes it and publishes to real NATS; the replicas are subscribers. Once as
 * ever, by name where the engine can be asked so, and once with whole pages only. Polling: each
 * replica scrapes the engine's whole page itself at the same interval. The engine (a simulator, busy
 * with one stream of requests in every phase, so that its page changes) counts its scrapes and its
 * CPU, and takes for a page the time that a real vLLM takes on top of any other request, in
 * proportion to its bytes. `ratio`: scrapes at the most replicas, polling to ours; `cpu_ratio`: the
 * engine's CPU there, without what it takes unscraped, of polling and of our whole pages to ours.
 */
import { connectNats, type NatsLink } from '@leadsman/link';
import {
  ChatClient,
  type EngineProcess,
  launchEngineSimulators,
  launchNats,
  launchService,
  startSteadyLoad,
  waitUntil,
} from '@leadsman/testing';
import { allFramesSubject } from '@leadsman/wire';
import { endAllChildren, endChild, nextMessage, startChild } from './fleet/child.ts';
import type { BenchOptions } from './main.ts';

export const about = 'what one engine bears with 1, 3 and 10 picker replicas; against polling';

const replicaCountsFull = [1, 3, 10];
const replicaCountsSmoke = [1, 3];
const intervalMs = 50;
/**
 * CPU that a whole page of 48 KB takes vLLM 0.32 on CPU, beyond what `/health` does: 3.5 and 3.7 ms by
 * the checks of `npm run test:engine` (scripts/engine/by-name-checks.ts).
 */
const renderMs = 3.6;

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Burden {
  scrapesPerS: number;
  cpuMsPerS: number;
}

interface Row {
  replicas: number;
  ours: Burden;
  wholePages: Burden;
  polling: Burden;
}

export async function run(options: BenchOptions): Promise<Record<string, unknown>> {
  const measureMs = options.smoke ? 300 : 4_000;
  const replicaCounts = options.smoke ? replicaCountsSmoke : replicaCountsFull;
  const engines = await launchEngineSimulators([
    { host: '127.0.0.1', port: 0, metricsRenderMs: renderMs },
  ]);
  const port = engines.engines[0]?.port ?? 0;
  const load = startSteadyLoad(new ChatClient(`http://127.0.0.1:${port}`), 1, (number) => ({
    prompt: `Sounding ${number}`,
    outputTokens: 500,
  }));
  try {
    await sleep(options.smoke ? 200 : 2_000);
    const idle = await measure(engines, measureMs);
    const ours = await measureOurs(engines, port, { replicaCounts, ms: measureMs, byName: true });
    // What replicas there are is nothing to the engine.
    const whole = { replicaCounts: replicaCounts.slice(-1), ms: measureMs, byName: false };
    const [wholePages] = await measureOurs(engines, port, whole);
    const rows: Row[] = [];
    for (const [i, replicas] of replicaCounts.entries()) {
      const polling = await measurePolling(engines, port, replicas, measureMs);
      rows.push({ replicas, ours: ours[i] as Burden, wholePages: wholePages as Burden, polling });
    }
    return finish(rows, idle, options);
  } finally {
    await endAllChildren();
    await engines.stop();
    void load.stop();
  }
}

/** What the engine bears during the next `ms`. */
async function measure(engines: EngineProcess, ms: number): Promise<Burden> {
  const before = await engines.state();
  const beganMs = performance.now();
  await sleep(ms);
  const after = await engines.state();
  const seconds = (performance.now() - beganMs) / 1_000;
  const scrapes = (state: typeof before) =>
    state.engines.reduce((sum, engine) => sum + engine.ownScrapes + engine.foreignScrapes, 0);
  return {
    scrapesPerS: (scrapes(after) - scrapes(before)) / seconds,
    cpuMsPerS: (after.cpuMs - before.cpuMs) / seconds,
  };
}

interface OursOptions {
  replicaCounts: readonly number[];
  ms: number;
  byName: boolean;
}

async function measureOurs(
  engines: EngineProcess,
  port: number,
  { replicaCounts, ms, byName }: OursOptions,
): Promise<Burden[]> {
  const nats = await launchNats();
  const links: NatsLink[] = [];
  const sidecar = await launchService({
    service: 'sidecar',
    name: 'sidecar',
    flags: {
      'engine-ports': port,
      'scrape-interval-ms': intervalMs,
      'scrape-by-name': byName ? 'auto' : 'off',
      'pod-uid': '00000000-0000-4000-8000-000000000001',
      'pod-name': 'engine',
      'pod-ip': '127.0.0.1',
      'exporter-mode': 'pod',
      'nats-url': nats.url,
      'admin-host': '127.0.0.1',
      'admin-port': 0,
      'log-level': 'warn',
    },
    listeners: [],
  });
  try {
    const burdens: Burden[] = [];
    for (const replicas of replicaCounts) {
      while (links.length < replicas) links.push(subscriber(nats.url));
      await waitUntil(() => links.every((link) => link.counters.received > 3), {
        what: 'every replica to be told',
      });
      const { engines: before } = await engines.state();
      const asked = before[0]?.byNameScrapes ?? 0;
      burdens.push(await measure(engines, ms));
      const { engines: after } = await engines.state();
      if ((after[0]?.byNameScrapes ?? 0) > asked !== byName) {
        throw new Error(`the engine was ${byName ? 'not ' : ''}asked by name`);
      }
    }
    return burdens;
  } finally {
    await Promise.all(links.map((link) => link.close()));
    await sidecar.stop();
    await nats.stop();
  }
}

function subscriber(url: string): NatsLink {
  const link = connectNats({ servers: [url], name: 'picker replica' });
  link.subscribe(allFramesSubject('leadsman'), () => undefined);
  return link;
}

async function measurePolling(
  engines: EngineProcess,
  port: number,
  replicas: number,
  ms: number,
): Promise<Burden> {
  const poller = startChild('./poller-process.ts', { port, pods: replicas, intervalMs });
  try {
    await nextMessage(poller);
    await sleep(Math.min(1_000, ms));
    return await measure(engines, ms);
  } finally {
    await endChild(poller);
  }
}

function finish(rows: readonly Row[], idle: Burden, options: BenchOptions) {
  const fields = ({ scrapesPerS, cpuMsPerS }: Burden) => ({
    scrapes_per_s: Number(scrapesPerS.toFixed(1)),
    cpu_ms_per_s: Number(cpuMsPerS.toFixed(2)),
  });
  const last = rows.at(-1) as Row;
  const scraping = ({ cpuMsPerS }: Burden) => cpuMsPerS - idle.cpuMsPerS;
  const cpuRatio = (of: Burden) => Number((scraping(of) / scraping(last.ours)).toFixed(2));
  const result = {
    interval_ms: intervalMs,
    engine_cpu_ms_per_s_unscraped: Number(idle.cpuMsPerS.toFixed(2)),
    replicas: rows.map((row) => ({
      replicas: row.replicas,
      ours: fields(row.ours),
      ours_whole_pages: fields(row.wholePages),
      polling: fields(row.polling),
    })),
    cpu_ratio: { whole_pages: cpuRatio(last.wholePages), polling: cpuRatio(last.polling) },
    ratio: Number((last.polling.scrapesPerS / last.ours.scrapesPerS).toFixed(2)),
  };
  if (!options.json) {
    process.stdout.write('scrapes/s and CPU ms/s of the engine\n');
    process.stdout.write('replicas       ours, by name   ours, whole pages             polling\n');
    const cell = (burden: ReturnType<typeof fields>) =>
      `${burden.scrapes_per_s} ${burden.cpu_ms_per_s.toFixed(2).padStart(8)}`.padStart(20);
    for (const { replicas, ours, ours_whole_pages: whole, polling } of result.replicas) {
      const cells = cell(ours) + cell(whole) + cell(polling);
      process.stdout.write(`${String(replicas).padStart(8)}${cells}\n`);
    }
    const { whole_pages: pages, polling } = result.cpu_ratio;
    process.stdout.write(`ratio ${result.ratio}; CPU: whole pages ${pages}, polling ${polling}\n`);
  }
  return result;
}
