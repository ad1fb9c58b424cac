/**
 * `npm run bench -- footprint`: resident memory and CPU of what runs beside every engine: one
 * sidecar that scrapes a page of 45 KB 20 times a second and hands each report to an agent, and
 * one agent that takes the reports of 16 such sidecars and publishes to NATS.
 *
 * Beside the agent a server that takes the same streams and does nothing else: `ratio` is its CPU to
 * the agent's, 1 at best.
 *
 * Both run as in an image: bundled, with the same flags. Engine, NATS and senders are processes of
 * their own. Start-up is left out: figures are differences of `/proc/<pid>/stat` over a window,
 * and the resident memory at its end. At 20 calls a second the runtime needs most of a minute to
 * find out which functions are worth compiling, so the window begins after that.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launchEngineSimulators, launchNats, requireNats } from '@leadsman/testing';
import { bundle } from '../../scripts/images/bundle.ts';
import { type BundledProcess, launchBundled, launchNode } from './footprint/bundled-process.ts';
import { observe, type ProcessUse, pass, residentMb } from './footprint/process-use.ts';
import { startReporters } from './footprint/reporters.ts';
import type { BenchOptions } from './main.ts';

export const about = 'memory and CPU of one sidecar, and of an agent with 16 sidecars';

const sidecars = 16;
const reportsPerS = 20;

/** As deploy/images starts a sidecar. */
export const sidecarNodeFlags = [
  '--max-semi-space-size=1',
  '--max-old-space-size=64',
  '--single-threaded',
];
const sidecarEnv = { MALLOC_ARENA_MAX: '1' };

export async function run(options: BenchOptions): Promise<Record<string, unknown>> {
  const cleanUps: CleanUps = [];
  try {
    // A smoke run has no time for bundling.
    const folder = options.smoke ? undefined : await bundles(cleanUps);
    const window = options.smoke
      ? { warmUpMs: 500, forMs: 1_000 }
      : { warmUpMs: 50_000, forMs: 15_000 };
    // At the same time: together they take a tenth of a core, and a minute is long.
    const [agent, bare, sidecar] = await Promise.all([
      requireNats() ? agentUse(folder, window, cleanUps) : undefined,
      bareUse(window, cleanUps),
      sidecarUse(folder, window, cleanUps),
    ]);
    const result = {
      node_flags: sidecarNodeFlags.join(' '),
      sidecar,
      ...(agent && { agent }),
      bare_http_server: { cpu_percent: bare.cpu_percent },
      ...(agent && { ratio: Number((bare.cpu_percent / agent.cpu_percent).toFixed(2)) }),
    };
    if (!options.json) print(result);
    return result;
  } finally {
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
  }
}

async function bundles(cleanUps: CleanUps): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'leadsman-footprint-'));
  cleanUps.push(() => rm(folder, { recursive: true, force: true }));
  await bundle(folder);
  return folder;
}

interface Window {
  warmUpMs: number;
  forMs: number;
}

type CleanUps = (() => Promise<unknown>)[];

interface SidecarUse extends ProcessUse {
  /** After its first answer over HTTP, for which it loads what makes that. */
  memory_mb_once_asked: number;
  scrapes_per_s: number;
  page_bytes: number;
}

async function sidecarUse(
  folder: string | undefined,
  window: Window,
  cleanUps: CleanUps,
): Promise<SidecarUse> {
  const engines = await launchEngineSimulators([{}]);
  cleanUps.push(() => engines.stop());
  const [engine] = engines.engines;
  const url = `http://${engine?.host}:${engine?.port}/metrics`;
  const page = await (await fetch(url)).arrayBuffer();
  // An agent without a way onward would answer 503; this one only takes reports in.
  const agent = await launchAgent(folder, cleanUps);
  const sidecar = await launchBundled(
    folder,
    'sidecar',
    sidecarNodeFlags,
    {
      targets: `8000=${url}`,
      agentUrl: `http://${agent.address}`,
      exporterMode: 'node',
      adminHost: '127.0.0.1',
      adminPort: 0,
      podUid: 'bench-0',
      podIp: '127.0.0.1',
      // The simulated engine is idle; a busy one is not scraped more slowly.
      idleIntervalMs: 50,
    },
    sidecarEnv,
  );
  cleanUps.push(() => sidecar.stop());
  const scrapes = () => counterOf(sidecar.address, 'leadsman_sidecar_scrapes_total{outcome="ok"}');
  const use = await observe(sidecar.pid, window, async () => {});
  // Only now: the first question loads what answers it.
  const startedAtMs = performance.now();
  const before = await scrapes();
  await pass(window.forMs / 5);
  const perS = ((await scrapes()) - before) / ((performance.now() - startedAtMs) / 1_000);
  return {
    ...use,
    memory_mb_once_asked: await residentMb(sidecar.pid),
    scrapes_per_s: Number(perS.toFixed(1)),
    page_bytes: page.byteLength,
  };
}

async function agentUse(
  folder: string | undefined,
  window: Window,
  cleanUps: CleanUps,
): Promise<ProcessUse & { reports_per_s: number; sidecars: number }> {
  const agent = await launchAgent(folder, cleanUps);
  const reporters = startReporters(`http://${agent.address}`, sidecars, 1_000 / reportsPerS);
  cleanUps.push(() => reporters.stop());
  const reports = () => counterOf(agent.address, 'leadsman_node_agent_reports_total');
  let before = 0;
  const use = await observe(agent.pid, window, async () => {
    before = await reports();
  });
  const perS = ((await reports()) - before) / (window.forMs / 1_000);
  return { ...use, reports_per_s: Math.round(perS), sidecars };
}

async function launchAgent(
  folder: string | undefined,
  cleanUps: CleanUps,
): Promise<BundledProcess> {
  const agent = await launchBundled(folder, 'node-agent', [], {
    nodeName: 'bench',
    natsUrl: await natsUrl(cleanUps),
    adminHost: '127.0.0.1',
    adminPort: 0,
  });
  cleanUps.push(() => agent.stop());
  return agent;
}

async function bareUse(window: Window, cleanUps: CleanUps): Promise<ProcessUse> {
  const program = new URL('./footprint/bare-server-process.ts', import.meta.url);
  const server = await launchNode('bare server', [fileURLToPath(program)]);
  cleanUps.push(() => server.stop());
  const reporters = startReporters(`http://${server.address}`, sidecars, 1_000 / reportsPerS);
  cleanUps.push(() => reporters.stop());
  return observe(server.pid, window, async () => {});
}

let nats: Promise<string> | undefined;

function natsUrl(cleanUps: CleanUps): Promise<string> {
  nats ??= launchNats().then((server) => {
    cleanUps.unshift(() => server.stop());
    return server.url;
  });
  return nats;
}

async function counterOf(address: string, series: string): Promise<number> {
  const text = await (await fetch(`http://${address}/metrics`)).text();
  const line = text.split('\n').find((one) => one.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? Number.NaN);
}

function print(result: {
  sidecar: SidecarUse;
  agent?: ProcessUse & { reports_per_s: number };
  bare_http_server: { cpu_percent: number };
}): void {
  const { sidecar, agent, bare_http_server: bare } = result;
  process.stdout.write(
    `sidecar  ${sidecar.memory_mb} MB (${sidecar.memory_mb_once_asked} once asked for its metrics), ` +
      `${sidecar.cpu_percent} % of a core ` +
      `at ${sidecar.scrapes_per_s} scrapes/s\n`,
  );
  if (agent === undefined) return;
  process.stdout.write(
    `agent    ${agent.memory_mb} MB, ${agent.cpu_percent} % of a core ` +
      `at ${agent.reports_per_s} reports/s; a server that only answers them: ` +
      `${bare.cpu_percent} %\n`,
  );
}
