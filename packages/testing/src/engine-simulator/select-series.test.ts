import { afterEach, describe, expect, it } from 'vitest';
import type { EngineFaults } from './faults.ts';
import { selectLines } from './select-series.ts';
import {
  type EngineSimulator,
  type EngineSimulatorOptions,
  startEngineSimulator,
} from './simulator.ts';

const engines: EngineSimulator[] = [];

afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.stop()));
});

async function start(
  faults: Partial<EngineFaults> = {},
  options: EngineSimulatorOptions = {},
): Promise<EngineSimulator> {
  const engine = await startEngineSimulator({ ranks: 2, sleepMode: true, ...options });
  engines.push(engine);
  Object.assign(engine.faults, faults);
  return engine;
}

const names = [
  'vllm:num_requests_running',
  'vllm:time_to_first_token_seconds_sum',
  'vllm:engine_sleep_state',
  'no_such_series',
];
const query = `?${names.map((name) => `name[]=${encodeURIComponent(name)}`).join('&')}`;

async function ask(engine: EngineSimulator, path: string): Promise<string> {
  const reply = await fetch(`${engine.url}${path}`, { redirect: 'manual' });
  return reply.status === 200 ? reply.text() : String(reply.status);
}

describe('a page asked for by name', () => {
  it('has the samples of these names under their heads, and nothing else', async () => {
    const engine = await start();
    const page = await ask(engine, `/metrics/${query}`);
    expect(page).toBe(selectLines(engine.page().toString(), new Set(names)));
    const lines = page.trimEnd().split('\n');
    expect(lines.filter((line) => !line.startsWith('#'))).toHaveLength(2 + 2 + 6);
    expect(lines.filter((line) => line.startsWith('# TYPE '))).toEqual([
      '# TYPE vllm:num_requests_running gauge',
      '# TYPE vllm:time_to_first_token_seconds histogram',
      '# TYPE vllm:engine_sleep_state gauge',
    ]);
    expect(engine.scrapes).toMatchObject({ own: 1, byName: 1 });
  });

  it('is as of now, at each request', async () => {
    const engine = await start({}, { speed: 100 });
    await fetch(`${engine.url}/v1/completions`, {
      method: 'POST',
      body: JSON.stringify({ prompt: 'How deep?', max_tokens: 3 }),
    });
    const counted = '?name[]=vllm:generation_tokens_total';
    expect(await ask(engine, `/metrics/${counted}`)).toMatch(/\{engine="0",[^}]*\} 3\.0\n/);
  });

  it('is the whole page at the exact path of older releases', async () => {
    const engine = await start();
    expect(await ask(engine, `/metrics${query}`)).toBe(engine.page().toString());
    engine.faults.selection = 'everywhere';
    expect(await ask(engine, `/metrics${query}`)).toBe(await ask(engine, `/metrics/${query}`));
    expect(await ask(engine, '/metrics/')).toBe(engine.page().toString());
  });

  it.each([
    [{ selection: 'empty' }, ''],
    [{ selectionStatus: 404 }, '404'],
    [{ selectionRedirect: '/elsewhere' }, '307'],
  ] satisfies [Partial<EngineFaults>, string][])('goes wrong with %o', async (faults, answer) => {
    const engine = await start(faults);
    expect(await ask(engine, `/metrics/${query}`)).toBe(answer);
    expect(await ask(engine, '/metrics/')).toBe(engine.page().toString());
  });

  it('can be ignored, lack a name, or never change', async () => {
    const engine = await start({ selection: 'ignored' });
    expect(await ask(engine, `/metrics/${query}`)).toBe(engine.page().toString());
    Object.assign(engine.faults, { selection: 'frozen', selectionLacks: names[0] });
    const frozen = await ask(engine, `/metrics/${query}`);
    expect(frozen).not.toContain(names[0]);
    expect(frozen).toContain(names[1]);
    await fetch(`${engine.url}/sleep`, { method: 'POST' });
    expect(await ask(engine, `/metrics/${query}`)).toBe(frozen);
  });

  it('is OpenMetrics with other names for whoever accepts that, at the path below', async () => {
    const engine = await start();
    const headers = { accept: 'text/plain;version=0.0.4, application/openmetrics-text;q=0.1' };
    const reply = await fetch(`${engine.url}/metrics/${query}`, { headers });
    expect(reply.headers.get('content-type')).toMatch(/^application\/openmetrics-text/);
    const page = await reply.text();
    expect(page).toMatch(/^vllm_num_requests_running\{/m);
    expect(page).toMatch(/\n# EOF\n$/);
    const whole = await fetch(`${engine.url}/metrics`, { headers });
    expect(await whole.text()).toBe(engine.page().toString());
  });

  it('keeps the names through a redirect to the page below', async () => {
    const engine = await start({ metricsRedirect: '/metrics/' });
    const reply = await fetch(`${engine.url}/metrics${query}`);
    expect(await reply.text()).toBe(await ask(engine, `/metrics/${query}`));
  });
});
