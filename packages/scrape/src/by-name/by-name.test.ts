/** Engines that answer by name as they should, and others that do not: the numbers are right. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type EngineFaults,
  type EngineSimulator,
  type EngineSimulatorOptions,
  startEngineSimulator,
  waitUntil,
} from '@leadsman/testing';
import { metric, metricNames, reason } from '@leadsman/wire';
import { afterEach, describe, expect, it } from 'vitest';
import { paceDefaults, pageBytesMaxDefault, suspicionDefaults } from '../defaults.ts';
import { parseCustomMapping } from '../engine/custom.ts';
import { servePages } from '../http/page-server.fixture.ts';
import { PageReader } from '../page-reader.ts';
import { Target } from '../target.ts';

const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function start(
  faults: Partial<EngineFaults> = {},
  options: EngineSimulatorOptions = {},
): Promise<EngineSimulator> {
  const engine = await startEngineSimulator({ ranks: 2, adapters: ['a', 'b'], ...options });
  cleanUps.push(() => engine.stop());
  Object.assign(engine.faults, faults);
  engine.setSpeed(0);
  return engine;
}

/** A clock that tests move on. */
const clock = {
  aheadMs: 0,
  nowMs: () => performance.now() + clock.aheadMs,
  unixMs: () => Date.now(),
};

interface Changes {
  timeoutMs?: number;
  path?: string;
  byName?: boolean;
  tokenFile?: string;
  reader?: PageReader;
  engine?: string;
}

function targetFor(engine: { url: string }, changes: Changes = {}): Target {
  const { timeoutMs = 5_000, path = '/metrics', byName = true, tokenFile = '' } = changes;
  const { reader = new PageReader(), engine: name = 'auto' } = changes;
  const target = new Target(
    {
      byName,
      identity: {
        podUid: 'pod',
        podName: 'pod',
        namespace: 'default',
        nodeName: 'n1',
        address: '127.0.0.1',
        port: 8_000,
        rank: 0,
        reporter: 'sidecar',
        metricsPort: '',
      },
      fetch: {
        url: engine.url + path,
        timeoutMs,
        bytesMax: pageBytesMaxDefault,
        tokenFile,
        localAddress: '',
        tlsCaFile: '',
        tlsVerify: true,
      },
      pace: paceDefaults,
      suspicion: suspicionDefaults,
      engine: name,
    },
    { reader, clock, random: () => 0.5, onReport: () => {} },
  );
  cleanUps.push(() => target.stop());
  return target;
}

const reader = new PageReader();
let requests = 0;

/** Lets the engine work for a moment, and stand still again with other numbers. */
async function work(engine: EngineSimulator): Promise<void> {
  const before = generated(read(engine));
  const { served } = engine;
  void fetch(`${engine.url}/v1/completions`, {
    method: 'POST',
    body: JSON.stringify({
      model: requests++ % 2 === 0 ? 'a' : 'b',
      prompt: `How deep is it here? ${requests}`,
      max_tokens: 50_000,
    }),
  }).catch(() => undefined);
  engine.setSpeed(1);
  // A request that came after it stands still would change what has been scraped.
  const hasWorked = () => engine.served > served && generated(read(engine)) > before;
  await waitUntil(hasWorked, { what: 'the engine to have taken the request and generated tokens' });
  engine.setSpeed(0);
}

function read(engine: EngineSimulator): ReturnType<PageReader['read']> {
  return reader.read(engine.page(), 'vllm');
}

function generated(outcome: ReturnType<PageReader['read']>): number {
  if ('reason' in outcome) return Number.NaN;
  return outcome.reading.metrics[metric.generationTokensTotal] as number;
}

/** All numbers of the whole page as it is now. */
function truth(engine: EngineSimulator): Record<string, unknown> {
  const outcome = read(engine);
  if ('reason' in outcome) throw new Error(outcome.detail);
  const { metrics, ranks, loraRunning } = outcome.reading;
  return numbersOf(metrics, ranks, loraRunning);
}

function numbersOf(metrics: Readonly<Float64Array>, ranks: unknown, lora: unknown) {
  const numbers = metricNames
    .filter((name) => name !== 'scrapeDurationMs' && name !== 'scrapeIntervalMs')
    .map((name) => [name, metrics[metric[name]]]);
  return { ...Object.fromEntries(numbers), ranks, lora };
}

async function scrapeRight(target: Target, engine: EngineSimulator): Promise<void> {
  await target.scrapeOnce();
  expect(target.state.reason).toBe(reason.ok);
  const { metrics, ranks, reading } = target.state;
  expect(numbersOf(metrics, ranks, reading?.loraRunning)).toEqual(truth(engine));
}

async function scrapesRight(target: Target, engine: EngineSimulator, times = 5): Promise<void> {
  for (let i = 0; i < times; i++) {
    await work(engine);
    await scrapeRight(target, engine);
  }
}

describe('an engine that can be asked by name', () => {
  it('is, at the path below in older releases, after one look at its whole page', async () => {
    const engine = await start();
    const target = targetFor(engine);
    await scrapesRight(target, engine, 6);
    expect(target.way).toMatchObject({ way: 'by_name', why: '' });
    // The whole page, the exact path which ignores names, then the path below.
    expect(target.pages).toMatchObject({ wholePages: 1, byNamePages: 5, byNameRefused: 0 });
    expect(target.way.byNameBytes).toBeLessThan(target.way.wholeBytes / 8);
    expect(engine.scrapes).toMatchObject({ own: 6, byName: 5 });
  });

  it('is at its own path in newer releases, and keeps a query that was configured', async () => {
    const engine = await start({ selection: 'everywhere' });
    const target = targetFor(engine, { path: '/metrics?format=text' });
    await scrapesRight(target, engine, 4);
    expect(target.pages).toMatchObject({ wholePages: 1, byNamePages: 3 });
    expect(target.way).toMatchObject({ way: 'by_name' });
  });

  it('is behind a redirect to the path below, which is followed once', async () => {
    const engine = await start({ metricsRedirect: '/metrics/' });
    const target = targetFor(engine);
    await scrapesRight(target, engine, 4);
    expect(target.way.way).toBe('by_name');
    expect(target.pages).toMatchObject({ wholePages: 1, byNamePages: 3 });
    expect(engine.scrapes.own).toBe(5);
  });

  it('shows each new set of adapters, without a look at the whole page', async () => {
    const engine = await start();
    const target = targetFor(engine);
    for (let i = 0; i < 4; i++) await scrapeRight(target, engine);
    const { wholePages } = target.pages;
    await scrapesRight(target, engine, 4);
    expect(target.state.reading?.loraRunning).toHaveLength(2);
    expect(target.pages.wholePages).toBe(wholePages);
    expect(target.way.way).toBe('by_name');
  });

  it('is asked for its whole page once a minute, which is no fault and no new pace', async () => {
    const engine = await start();
    const target = targetFor(engine);
    await scrapesRight(target, engine, 4);
    for (let minute = 1; minute <= 3; minute++) {
      clock.aheadMs += 60_000;
      await scrapesRight(target, engine, 3);
      expect(target.pages.wholePages).toBe(1 + minute);
      expect(target.way.way).toBe('by_name');
    }
    expect(target.pages.byNameRefused).toBe(0);
  });

  it('is asked for its whole page when its numbers stand still, ever more rarely', async () => {
    const engine = await start();
    const target = targetFor(engine);
    await scrapesRight(target, engine, 4);
    const looks: number[] = [];
    for (let second = 1; second <= 100; second++) {
      clock.aheadMs += 1_000;
      const { wholePages } = target.pages;
      await scrapeRight(target, engine);
      if (target.pages.wholePages > wholePages) looks.push(second);
    }
    expect(looks.length).toBeGreaterThanOrEqual(4);
    expect(looks.length).toBeLessThanOrEqual(6);
    expect(looks[0]).toBeLessThanOrEqual(6);
  });

  it('is found out anew when it restarts, and when its server comes back', async () => {
    const engine = await start({ selection: 'ignored' });
    const target = targetFor(engine);
    await scrapesRight(target, engine, 4);
    expect(target.way).toMatchObject({ way: 'whole', why: expect.stringMatching(/as much as/) });
    const asked = engine.scrapes.byName;
    await scrapesRight(target, engine, 4);
    expect(engine.scrapes.byName).toBe(asked);
    const { port } = engine;
    await engine.stop();
    const next = await start({}, { port });
    await work(next);
    const { epoch } = target.state;
    await scrapeRight(target, next);
    expect(target.state.epoch).toBeGreaterThan(epoch);
    await scrapesRight(target, next, 3);
    expect(target.way.way).toBe('by_name');
    expect(next.scrapes.byName).toBe(3);
    // Between two scrapes, so that the first answer of the new one is by name.
    await next.stop();
    const third = await start({}, { port });
    await scrapeRight(target, third);
    expect(target.state.epoch).toBeGreaterThan(epoch + 1);
    await scrapesRight(target, third, 3);
    expect(target.way.way).toBe('by_name');
    await third.stop();
    await target.scrapeOnce();
    expect(target.state.reason).toBe(reason.connect);
    const last = await start({ selection: 'everywhere' }, { port });
    await scrapesRight(target, last, 3);
    expect(target.way.way).toBe('by_name');
  });

  it('is sent the token', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'leadsman-'));
    cleanUps.push(() => rm(folder, { recursive: true }));
    const tokenFile = join(folder, 'token');
    await writeFile(tokenFile, 'open');
    const engine = await start({ metricsToken: 'open' });
    const target = targetFor(engine, { tokenFile });
    await scrapesRight(target, engine, 4);
    expect(target.way.way).toBe('by_name');
    engine.faults.metricsToken = 'sesame';
    await target.scrapeOnce();
    expect(target.state.reason).toBe(reason.unauthorized);
    await writeFile(tokenFile, 'sesame');
    // The file is looked at once a second.
    clock.aheadMs += 1_000;
    await scrapesRight(target, engine, 3);
    expect(target.way.way).toBe('by_name');
  });

  it('is not when that is switched off', async () => {
    const engine = await start();
    const target = targetFor(engine, { byName: false });
    await scrapesRight(target, engine, 3);
    expect(engine.scrapes.byName).toBe(0);
    expect(target.way).toMatchObject({ way: 'whole', why: 'switched off' });
  });
});

const lies: [string, Partial<EngineFaults>, RegExp][] = [
  ['ignores the names', { selection: 'ignored' }, /as much as the whole page/],
  ['answers with nothing', { selection: 'empty' }, /no exposition|no series/],
  ['drops a family', { selectionLacks: 'vllm:num_requests_waiting' }, /lacks vllm:num_requests_w/],
  ['drops a counter', { selectionLacks: 'vllm:prompt_tokens_total' }, /lacks vllm:prompt_tokens/],
  ['answers 400', { selectionStatus: 400 }, /status 400/],
  ['answers 404', { selectionStatus: 404 }, /status 404/],
  ['answers 500', { selectionStatus: 500 }, /status 500/],
  ['answers 403', { selectionStatus: 403 }, /status 403/],
  ['redirects to another page', { selectionRedirect: '/health' }, /./],
  ['redirects to itself', { selectionRedirect: '/metrics/?name[]=up' }, /redirected twice/],
  ['redirects elsewhere', { selectionRedirect: 'http://192.0.2.1/metrics' }, /redirected to/],
  ['redirects to the whole page', { selectionRedirect: '/metrics/' }, /as much as/],
];

describe.each(lies)('an engine that %s', (_, faults, why) => {
  it('is read right, and is not asked by name again', async () => {
    const engine = await start(faults);
    const target = targetFor(engine);
    await scrapesRight(target, engine, 4);
    expect(target.way).toMatchObject({ way: 'whole', why: expect.stringMatching(why) });
    const asked = engine.scrapes.byName;
    await scrapesRight(target, engine, 3);
    expect(engine.scrapes.byName).toBe(asked);
    expect(target.counters.scrapes).toBe(7);
    expect(target.state.seq).toBe(8);
  });

  it('is read right when it begins to, within the same scrape', async () => {
    const engine = await start({ selection: 'everywhere' });
    const target = targetFor(engine);
    await scrapesRight(target, engine, 3);
    expect(target.way.way).toBe('by_name');
    Object.assign(engine.faults, faults);
    await scrapesRight(target, engine, 3);
    expect(target.way).toMatchObject({ way: 'whole', why: expect.stringMatching(why) });
    const asked = engine.scrapes.byName;
    await scrapesRight(target, engine, 3);
    expect(engine.scrapes.byName).toBe(asked);
    expect(target.state.suspect).toBe(false);
  });
});

describe('an engine that does not answer by name', () => {
  it('is read whole within the same scrape, and asked by name again ever later', async () => {
    const engine = await start({ selection: 'hang' });
    const target = targetFor(engine, { timeoutMs: 1_000 });
    await scrapesRight(target, engine, 4);
    expect(target.way).toMatchObject({ way: 'whole', why: expect.stringMatching(/no complete/) });
    expect(engine.scrapes.byName).toBe(1);
    const asked: number[] = [];
    for (let minute = 1; minute <= 16; minute++) {
      clock.aheadMs += 60_000;
      const { byName } = engine.scrapes;
      for (let i = 0; i < 2; i++) await scrapeRight(target, engine);
      if (engine.scrapes.byName > byName) asked.push(minute);
    }
    expect(asked).toEqual([1, 3, 7, 15]);
    engine.faults.selection = 'below';
    clock.aheadMs += 3_600_000;
    await scrapesRight(target, engine, 4);
    expect(target.way.way).toBe('by_name');
  });

  it('fails as before when its whole page fails, too, and is asked by name afterwards', async () => {
    const engine = await start();
    const target = targetFor(engine);
    await scrapesRight(target, engine, 4);
    engine.faults.metricsStatus = 503;
    await target.scrapeOnce();
    expect(target.state.reason).toBe(reason.httpStatus);
    await target.scrapeOnce();
    engine.faults.metricsStatus = 200;
    await scrapesRight(target, engine, 3);
    expect(target.way.way).toBe('by_name');
  });
});

describe('an answer by name out of a cache', () => {
  it('is given up by the first whole page after it', async () => {
    const engine = await start({ selection: 'everywhere' });
    const target = targetFor(engine);
    await scrapesRight(target, engine, 3);
    const { epoch } = target.state;
    engine.faults.selection = 'frozen';
    await target.scrapeOnce();
    clock.aheadMs += 5_000;
    await scrapesRight(target, engine, 4);
    const why = expect.stringMatching(/counts less/);
    expect(target.way).toMatchObject({ way: 'whole', why });
    expect(target.state.epoch).toBe(epoch);
  });
});

describe('a page that changes', () => {
  const running = (engine: number, count: number) =>
    `vllm:num_requests_running{engine="${engine}"} ${count}`;
  const waiting = (count: number) => `vllm:num_requests_waiting{engine="0"} ${count}`;
  const filler = Array.from({ length: 50 }, (_, i) => `process_filler_${i} 1`);

  interface Page {
    lines: string[];
    /** What is left of them when they are asked for by name. */
    kept: (line: string) => boolean;
  }

  /** Serves the lines, by name those of the names asked for that are to be kept. */
  async function serve(lines: string[]): Promise<{ url: string; page: Page }> {
    const page: Page = { lines, kept: () => true };
    const server = await servePages((request, response) => {
      const names = new URL(request.url ?? '/', 'http://engine').searchParams.getAll('name[]');
      const all = [...page.lines, ...filler];
      const asked = all.filter((line) => names.some((name) => line.startsWith(`${name}{`)));
      const answer = names.length === 0 ? all : asked.filter(page.kept);
      response.end(answer.map((line) => `${line}\n`).join(''));
    });
    cleanUps.push(() => server.stop());
    return { url: `http://127.0.0.1:${server.port}`, page };
  }

  async function runningAfterScrape(target: Target): Promise<number | undefined> {
    await target.scrapeOnce();
    return target.state.metrics[metric.runningRequests];
  }

  it('has each rank that it had, or is read whole', async () => {
    const { url, page } = await serve([running(0, 3), running(1, 4)]);
    const target = targetFor({ url });
    for (let i = 0; i < 3; i++) expect(await runningAfterScrape(target)).toBe(7);
    expect(target.way.way).toBe('by_name');
    page.kept = (line) => !line.includes('engine="1"');
    for (let i = 0; i < 3; i++) expect(await runningAfterScrape(target)).toBe(7);
    const why = 'asked by name: it has other series than the whole page';
    expect(target.way).toMatchObject({ way: 'whole', why });
  });

  it('is read whole when one rank stands for another', async () => {
    const { url, page } = await serve([running(0, 3), running(1, 4)]);
    const target = targetFor({ url });
    for (let i = 0; i < 3; i++) await target.scrapeOnce();
    page.lines = [running(0, 3), running(2, 5)];
    expect(await runningAfterScrape(target)).toBe(8);
    expect(target.pages.byNameRefused).toBe(1);
    expect(target.way.way).toBe('by_name');
  });

  it('gains a rank, which counts at once', async () => {
    const { url, page } = await serve([running(0, 3)]);
    const target = targetFor({ url });
    for (let i = 0; i < 3; i++) expect(await runningAfterScrape(target)).toBe(3);
    page.lines = [running(0, 3), running(1, 4)];
    for (let i = 0; i < 3; i++) expect(await runningAfterScrape(target)).toBe(7);
    expect(target.way.way).toBe('by_name');
    page.lines = [running(1, 4)];
    for (let i = 0; i < 3; i++) expect(await runningAfterScrape(target)).toBe(4);
    expect(target.way.way).toBe('by_name');
    expect(target.pages).toMatchObject({ wholePages: 3, byNameRefused: 2 });
  });

  it('gains a name: at once if its head was there, else within a minute', async () => {
    const head = '# TYPE vllm:num_requests_waiting gauge';
    const { url, page } = await serve([running(0, 3)]);
    const target = targetFor({ url });
    for (let i = 0; i < 3; i++) await target.scrapeOnce();
    page.lines = [running(0, 3), head];
    clock.aheadMs += 60_000;
    for (let i = 0; i < 2; i++) await target.scrapeOnce();
    expect(target.way).toMatchObject({ way: 'by_name', names: 2 });
    page.lines = [running(0, 3), head, waiting(5)];
    await target.scrapeOnce();
    expect(target.state.metrics[metric.waitingRequests]).toBe(5);
    page.lines.push('vllm:num_requests_swapped{engine="0"} 1');
    clock.aheadMs += 60_000;
    await target.scrapeOnce();
    expect(target.state.metrics[metric.swappedRequests]).toBe(1);
    await target.scrapeOnce();
    expect(target.way).toMatchObject({ way: 'by_name', names: 3 });
    expect(target.state.metrics[metric.swappedRequests]).toBe(1);
  });

  it('has a line that cannot be read, by name as on the whole page', async () => {
    const { url, page } = await serve([running(0, 3), running(1, 4)]);
    const target = targetFor({ url });
    for (let i = 0; i < 3; i++) await target.scrapeOnce();
    page.lines = [running(0, 3), 'vllm:num_requests_running{engine="1"} 4,0'];
    for (let i = 0; i < 3; i++) expect(await runningAfterScrape(target)).toBeNaN();
    expect(target.way.way).toBe('by_name');
  });

  it('is of a custom mapping, whose names are asked for at its own path', async () => {
    const lines = [
      'house_running{shard="0"} 3',
      'house_running{shard="1"} 4',
      'house_info{b="16"} 1',
    ];
    const { url, page } = await serve(lines);
    const mapping = parseCustomMapping(
      'engine: house\nrankLabel: shard\nmetricsPath: /stats\n' +
        'metrics: { runningRequests: house_running, kvBlockTokens: { family: house_info, label: b } }',
    );
    const reader = new PageReader([mapping]);
    const target = targetFor({ url }, { reader, engine: 'house', path: '/' });
    for (let i = 0; i < 4; i++) expect(await runningAfterScrape(target)).toBe(7);
    expect(target.way).toMatchObject({ way: 'by_name', names: 2 });
    expect(target.state.metrics[metric.kvBlockTokens]).toBe(16);
    page.kept = () => false;
    expect(await runningAfterScrape(target)).toBe(7);
    expect(target.way.way).toBe('whole');
  });

  it('is of an engine with another version after it was away: found out anew', async () => {
    let version = '1.0';
    let isAway = false;
    let byName = 0;
    const server = await servePages((request, response) => {
      if (isAway) request.socket.destroy();
      else if (request.url === '/version') {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ version }));
      } else {
        if (request.url?.includes('?name')) byName++;
        response.end(`${running(0, 1)}\n`);
      }
    });
    cleanUps.push(() => server.stop());
    const target = targetFor({ url: `http://127.0.0.1:${server.port}` });
    target.start();
    const { state } = target;
    await waitUntil(() => state.engineVersion === '1.0' && byName === 2, { what: 'the first way' });
    isAway = true;
    await waitUntil(() => state.reason === reason.connect, { what: 'nobody to listen' });
    isAway = false;
    await waitUntil(() => byName === 4, { what: 'the way to be found out after that' });
    version = '2.0';
    clock.aheadMs += 60_000;
    await waitUntil(() => byName === 6, { what: 'the way of the new release' });
    expect(state.engineVersion).toBe('2.0');
  });
});
