/**
 * Every strategy through real Envoy, and the swap of a configuration and of a user's module under
 * load: one rig for all, whose admin lets requests choose among all strategies by header.
 */
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Rig, requireEnvoy, requireNats } from '@leadsman/testing';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startLoad } from './load.ts';
import { type ViewEndpoint, viewOf, waitForCompleteView } from './view.ts';

const ready = [requireEnvoy(), requireNats()].every(Boolean);
const strategies = [
  'random',
  'round-robin',
  'power-of-two',
  'least-request',
  'least-load',
  'least-kv-cache',
  'prefix-cache',
  'lora-affinity',
  'session-affinity',
  'expected-work',
];
const config = `
default: { strategy: least-load }
routingHeader: { allow: [${strategies.join(', ')}] }
`;

describe.skipIf(!ready)('strategies', () => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await Rig.start({
      nodes: 1,
      podsPerNode: 4,
      subnet: 27,
      engine: { speed: 8 },
      pickerFlags: { workers: 2 },
    });
    await waitForCompleteView(rig, rig.picker!.adminUrl);
    expect(await reload(config)).toBe(200);
  }, 120_000);

  afterAll(() => rig?.stop());

  async function reload(text: string): Promise<number> {
    await writeFile(rig.strategyPath, text);
    const reply = await request(`${rig.picker!.adminUrl}/v1/reload`, { method: 'POST' });
    await reply.body.dump();
    return reply.statusCode;
  }

  async function chat(prompt: string, headers: Record<string, string> = {}): Promise<number> {
    const reply = await request(`${rig.gatewayUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ messages: [{ role: 'user', content: prompt }], max_tokens: 4 }),
    });
    await reply.body.dump();
    return reply.statusCode;
  }

  /** Picks of each endpoint, in the rig's order. */
  async function picks(): Promise<number[]> {
    const endpoints: (ViewEndpoint & { picks?: number })[] = await viewOf(rig.picker!.adminUrl);
    return rig.pods.map((pod) => {
      const own = rig.endpointOf(pod);
      const found = endpoints.find(({ address, port }) => `${address}:${port}` === own);
      return found?.picks ?? 0;
    });
  }

  /** What `act` adds to the picks of each endpoint. */
  async function picksOf(act: () => Promise<void>): Promise<number[]> {
    const before = await picks();
    await act();
    return (await picks()).map((count, i) => count - before[i]!);
  }

  it.each(strategies)('%s serves requests and stays within the pool', async (strategy) => {
    const added = await picksOf(async () => {
      const header = { 'routing-strategy': strategy, 'x-session-id': 'one' };
      for (let i = 0; i < 8; i++) expect(await chat(`request ${i}`, header)).toBe(200);
    });
    expect(added.reduce((sum, count) => sum + count)).toBe(8);
  });

  it('another name in the header gets 400', async () => {
    expect(await chat('hello', { 'routing-strategy': 'fastest' })).toBe(400);
  });

  it('a request that may be refused gets 429 from a saturated pool, others are served', async () => {
    const full = `
default: { strategy: least-load, retryAfterS: 3, saturation: { queueRequests: 0 } }
priority: { values: { batch: -1 } }
`;
    expect(await reload(full)).toBe(200);
    const reply = await request(`${rig.gatewayUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-gateway-inference-objective': 'batch' },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'hi' }], max_tokens: 4 }),
    });
    await reply.body.dump();
    expect([reply.statusCode, reply.headers['retry-after']]).toEqual([429, '3']);
    expect(await chat('hi')).toBe(200);
    expect(await reload(config)).toBe(200);
  });

  it('session-affinity keeps a session together', async () => {
    const header = { 'routing-strategy': 'session-affinity', 'x-session-id': 'session-42' };
    const added = await picksOf(async () => {
      for (let i = 0; i < 6; i++) expect(await chat(`turn ${i}`, header)).toBe(200);
    });
    expect(Math.max(...added)).toBe(6);
  });

  it.each(['prefix-cache', 'expected-work'])('%s keeps a long prompt together', async (name) => {
    const prompt = `${name}: ${'a shared document of some length. '.repeat(400)}`;
    const added = await picksOf(async () => {
      for (let i = 0; i < 6; i++) {
        expect(await chat(`${prompt} Question ${i}?`, { 'routing-strategy': name })).toBe(200);
      }
    });
    expect(Math.max(...added)).toBeGreaterThanOrEqual(5);
  });

  it('a changed module is swapped in under load without a failed request', async () => {
    const folder = dirname(rig.strategyPath);
    const module = (last: boolean): string => `
export default { kind: 'scorer', name: 'fixed', create: () => ({
  score(context, candidates, count, scores) {
    for (let i = 0; i < count; i++) {
      scores[i] = context.table.endpoints[candidates[i]].podName === '${
        rig.pods.at(last ? -1 : 0)!.name
      }' ? 1 : 0;
    }
  } }) };`;
    const own = 'extensions: [{ module: fixed.mjs }]\ndefault: { scorers: [{ type: fixed }] }\n';
    await writeFile(join(folder, 'fixed.mjs'), module(false));
    const load = startLoad(rig);
    expect(await reload(own)).toBe(200);
    const first = await picksOf(() => load.more(30));
    expect(first[0]).toBeGreaterThan(20);
    await writeFile(join(folder, 'fixed.mjs'), module(true));
    expect(await reload(own)).toBe(200);
    const second = await picksOf(() => load.more(30));
    expect(second[3]).toBeGreaterThan(20);
    // A broken one changes nothing.
    await writeFile(join(folder, 'fixed.mjs'), 'nonsense(');
    expect(await reload(own)).toBe(422);
    const third = await picksOf(() => load.more(20));
    expect(third[3]).toBeGreaterThan(10);
    expect(await reload(config)).toBe(200);
    await load.stopWithoutFailure();
  });
});
