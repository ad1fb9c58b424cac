import { afterEach, describe, expect, it } from 'vitest';
import { type EngineSimulator, startEngineSimulator } from '../engine-simulator/simulator.ts';
import { waitUntil } from '../process/wait-until.ts';
import { SeededRandom } from '../random.ts';
import { ChatClient } from './chat-client.ts';
import { planTraffic, sendPlan, startSteadyLoad } from './traffic.ts';

const cleanUps: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function setUp(): Promise<{ engine: EngineSimulator; client: ChatClient }> {
  const engine = await startEngineSimulator({ speed: 100 });
  cleanUps.push(() => engine.stop());
  const client = new ChatClient(engine.url);
  cleanUps.push(() => client.close());
  return { engine, client };
}

describe('ChatClient', () => {
  it('times the first token and the end', async () => {
    const { client } = await setUp();
    const result = await client.send({ prompt: 'hello', outputTokens: 20 });
    expect(result).toMatchObject({ failure: undefined, status: 200 });
    expect(result.firstTokenMs).toBeGreaterThan(0);
    expect(result.totalMs).toBeGreaterThanOrEqual(result.firstTokenMs);
  });

  it('calls an error status, a broken stream and a missing server failures', async () => {
    const { engine, client } = await setUp();
    engine.faults.requestsStatus = 503;
    const request = { prompt: 'hello', outputTokens: 20 };
    expect((await client.send(request)).failure).toContain('status 503');
    engine.faults.requestsStatus = 0;
    engine.faults.requestsCutAfterTokens = 3;
    expect((await client.send(request)).failure).toBeDefined();
    await engine.stop();
    expect((await client.send(request)).failure).toContain('ECONNREFUSED');
  });
});

describe('planTraffic', () => {
  const shape = {
    requestsPerSecond: 50,
    durationMs: 20_000,
    promptTokensMean: 100,
    outputTokensMean: 40,
  };

  it('is the same for the same seed and has the rate and sizes asked for', () => {
    const plan = planTraffic(shape, new SeededRandom(1));
    expect(plan).toEqual(planTraffic(shape, new SeededRandom(1)));
    expect(plan.length).toBeGreaterThan(850);
    expect(plan.length).toBeLessThan(1150);
    const mean = plan.reduce((sum, each) => sum + each.outputTokens, 0) / plan.length;
    expect(mean).toBeGreaterThan(30);
    expect(mean).toBeLessThan(50);
  });
});

describe('sending', () => {
  it('sends every planned request and reports each', async () => {
    const { client, engine } = await setUp();
    const plan = planTraffic(
      { requestsPerSecond: 200, durationMs: 200, promptTokensMean: 20, outputTokensMean: 5 },
      new SeededRandom(2),
    );
    let reported = 0;
    const results = await sendPlan(client, plan, { onResult: () => reported++ });
    expect(results.every((result) => result.failure === undefined)).toBe(true);
    expect([results.length, reported, engine.served]).toEqual(Array(3).fill(plan.length));
  });

  it('keeps the number of clients busy until stopped', async () => {
    const { client, engine } = await setUp();
    const load = startSteadyLoad(client, 3, (number) => ({
      prompt: `request ${number}`,
      outputTokens: 4,
    }));
    await waitUntil(() => load.results.length > 20, { what: 'some results' });
    await load.stop();
    expect(load.failures).toEqual([]);
    expect(engine.served).toBe(load.results.length);
  });
});
