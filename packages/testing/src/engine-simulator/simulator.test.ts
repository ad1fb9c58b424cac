import { request as httpRequest } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { waitUntil } from '../process/wait-until.ts';
import {
  type EngineSimulator,
  type EngineSimulatorOptions,
  startEngineSimulator,
} from './simulator.ts';

const engines: EngineSimulator[] = [];

/** Fast by default: what is tested is behaviour, not time. */
async function start(options: EngineSimulatorOptions = {}): Promise<EngineSimulator> {
  const engine = await startEngineSimulator({ speed: 100, ...options });
  engines.push(engine);
  return engine;
}

afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.stop()));
});

function post(engine: EngineSimulator, path: string, body: unknown, init: RequestInit = {}) {
  return fetch(`${engine.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...init,
  });
}

const chat = { messages: [{ role: 'user', content: 'How deep is it here?' }], max_tokens: 5 };

function events(text: string): unknown[] {
  return text
    .split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .map((event) => JSON.parse(event.slice('data: '.length)));
}

function sample(page: string, name: string): number {
  const line = page.split('\n').find((each) => each.startsWith(name));
  if (line === undefined) throw new Error(`no ${name} on the page`);
  return Number(line.slice(line.lastIndexOf(' ') + 1));
}

async function scrape(engine: EngineSimulator, path = '/metrics'): Promise<string> {
  return (await fetch(`${engine.url}${path}`)).text();
}

describe('completions', () => {
  it('answers a chat request with the tokens asked for', async () => {
    const engine = await start();
    const response = await post(engine, '/v1/chat/completions', chat);
    const body = (await response.json()) as {
      choices: { message: { content: string }; finish_reason: string }[];
      usage: { prompt_tokens: number; completion_tokens: number };
    };
    expect(body.choices[0]?.finish_reason).toBe('length');
    expect(body.choices[0]?.message.content).not.toBe('');
    expect(body.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 5 });
  });

  it('streams one event per token, then the reason, the usage and the end mark', async () => {
    const engine = await start();
    const response = await post(engine, '/v1/chat/completions', {
      ...chat,
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const text = await response.text();
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    const list = events(text) as {
      choices: { delta: { content: string }; finish_reason: string | null }[];
      usage?: { completion_tokens: number };
    }[];
    // Role, five tokens, the end, the usage.
    expect(list).toHaveLength(8);
    expect(list[6]?.choices[0]?.finish_reason).toBe('length');
    expect(list[7]?.choices).toEqual([]);
    expect(list[7]?.usage?.completion_tokens).toBe(5);
  });

  it('streams several tokens per event when told to, and loses none', async () => {
    const engine = await start({ streamTokens: 4 });
    const body = { prompt: 'abc', max_tokens: 10 };
    const whole = await (await post(engine, '/v1/completions', body)).json();
    const streamed = await post(engine, '/v1/completions', { ...body, stream: true });
    const list = events(await streamed.text()) as { choices: { text: string }[] }[];
    expect(list.length).toBeLessThan(6);
    const text = list.map((event) => event.choices[0]?.text ?? '').join('');
    expect(text).toBe((whole as { choices: { text: string }[] }).choices[0]?.text);
  });

  it.each([
    ['a string', 'hello there'],
    ['a list of strings', ['hello', 'there']],
    ['token ids', [1, 2, 3]],
    ['lists of token ids', [[1, 2], [3]]],
  ])('takes a prompt that is %s', async (_, prompt) => {
    const engine = await start();
    const response = await post(engine, '/v1/completions', { prompt, max_tokens: 1 });
    const body = (await response.json()) as { usage: { prompt_tokens: number } };
    expect(body.usage.prompt_tokens).toBeGreaterThanOrEqual(3);
  });

  it.each([
    ['not JSON', '{', 400],
    ['without a prompt', '{}', 400],
    ['for another model', '{"model":"other","prompt":"a"}', 404],
    ['longer than the cache', '{"prompt":"a","max_tokens":500000}', 400],
  ])('refuses a body %s', async (_, body, status) => {
    const engine = await start();
    const response = await post(engine, '/v1/completions', '', { body });
    expect(response.status).toBe(status);
    expect(await response.json()).toHaveProperty('error.message');
  });

  it('ends a request in the engine when its client goes', async () => {
    const engine = await start({ speed: 1 });
    const abort = new AbortController();
    const response = await post(
      engine,
      '/v1/completions',
      { prompt: 'a', max_tokens: 10_000, stream: true },
      { signal: abort.signal },
    );
    await response.body?.getReader().read();
    expect(engine.ranks[0]?.alive).toBe(1);
    abort.abort();
    await waitUntil(() => engine.ranks[0]?.alive === 0, { what: 'the request to be dropped' });
    await waitUntil(() => sample(engine.page().toString(), 'vllm:num_requests_running') === 0, {
      what: 'the gauge to fall',
    });
  });

  it('sends a request to the rank that the client names, else to the idlest', async () => {
    const engine = await start({ ranks: 2, speed: 0 });
    const one = post(engine, '/v1/completions', chat, {
      headers: { 'x-data-parallel-rank': '1' },
    }).catch(() => undefined);
    await waitUntil(() => engine.ranks[1]?.alive === 1, { what: 'rank 1 to have it' });
    const two = post(engine, '/v1/completions', chat).catch(() => undefined);
    await waitUntil(() => engine.ranks[0]?.alive === 1, { what: 'rank 0 to have the next' });
    await engine.stop();
    await Promise.all([one, two]);
  });

  it('computes a prompt it has seen before from its cache', async () => {
    const engine = await start();
    const body = { prompt: 'once upon a time '.repeat(40), max_tokens: 1 };
    for (let i = 0; i < 2; i++) await (await post(engine, '/v1/completions', body)).text();
    const page = await scrape(engine);
    expect(sample(page, 'vllm:prefix_cache_hits_total')).toBeGreaterThan(100);
  });
});

describe('speed', () => {
  it('stands still at 0 and goes on from there', async () => {
    const engine = await start({ speed: 0 });
    const reply = post(engine, '/v1/completions', chat);
    await waitUntil(() => engine.served === 1, { what: 'the request to arrive' });
    expect(sample(await scrape(engine), 'vllm:generation_tokens_total')).toBe(0);
    engine.setSpeed(100);
    expect((await reply).status).toBe(200);
  });
});

describe('faults', () => {
  it('hangs, and answers again when mended', async () => {
    const engine = await start();
    engine.faults.metricsHang = true;
    const hung = fetch(`${engine.url}/metrics`, { signal: AbortSignal.timeout(50) });
    await expect(hung).rejects.toThrow();
    engine.faults.metricsHang = false;
    expect(await scrape(engine)).toContain('vllm:num_requests_running');
  });

  it('fails scrapes and requests with a status of choice', async () => {
    const engine = await start();
    engine.faults.metricsStatus = 503;
    engine.faults.requestsStatus = 500;
    expect((await fetch(`${engine.url}/metrics`)).status).toBe(503);
    expect((await post(engine, '/v1/completions', chat)).status).toBe(500);
  });

  it('asks for a token', async () => {
    const engine = await start();
    engine.faults.metricsToken = 'secret';
    expect((await fetch(`${engine.url}/metrics`)).status).toBe(401);
    const headers = { authorization: 'Bearer secret' };
    expect((await fetch(`${engine.url}/metrics`, { headers })).status).toBe(200);
  });

  it('redirects, compresses, pads and dribbles the page', async () => {
    const engine = await start();
    engine.faults.metricsRedirect = '/metrics/';
    engine.faults.metricsGzip = true;
    engine.faults.metricsPadBytes = 200_000;
    engine.faults.metricsBodyMs = 40;
    const response = await fetch(`${engine.url}/metrics`);
    expect(response.redirected).toBe(true);
    expect(response.headers.get('content-encoding')).toBe('gzip');
    expect((await response.text()).length).toBeGreaterThan(240_000);
  });

  it('closes each connection without announcing it', async () => {
    const engine = await start();
    engine.faults.closeAfterResponse = true;
    const closed = await new Promise<{ connection: string | undefined }>((resolve, reject) => {
      const request = httpRequest(`${engine.url}/health`, (response) => {
        response.resume();
        response.socket.on('close', () => resolve({ connection: response.headers.connection }));
      });
      request.on('error', reject).end();
    });
    expect(closed.connection).toBe('keep-alive');
  });

  it('freezes the page although the engine works on', async () => {
    const engine = await start();
    engine.faults.metricsFrozen = true;
    const before = await scrape(engine);
    await (await post(engine, '/v1/completions', chat)).text();
    expect(await scrape(engine)).toBe(before);
    engine.faults.metricsFrozen = false;
    expect(sample(await scrape(engine), 'vllm:generation_tokens_total')).toBe(5);
  });

  it('wedges: requests are taken, nothing is computed, the health check passes', async () => {
    const engine = await start();
    engine.faults.wedged = true;
    const reply = post(engine, '/v1/completions', chat);
    await waitUntil(() => engine.served === 1, { what: 'the request to arrive' });
    expect((await fetch(`${engine.url}/health`)).status).toBe(200);
    expect(sample(await scrape(engine), 'vllm:prompt_tokens_total')).toBe(0);
    engine.faults.wedged = false;
    expect((await reply).status).toBe(200);
  });

  it('cuts a stream short', async () => {
    const engine = await start();
    engine.faults.requestsCutAfterTokens = 2;
    const response = await post(engine, '/v1/completions', { ...chat, stream: true });
    await expect(response.text()).rejects.toThrow();
  });
});
