import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../random.ts';
import { EngineModel } from './engine-model.ts';
import type { EngineParameters } from './parameters.ts';

const plain = { blockHashes: [] };

/** Steps take exactly 10 ms, and prefill is free. */
const simple: Partial<EngineParameters> = {
  stepBaseMs: 10,
  stepPerSequenceMs: 0,
  stepPerKvKilotokenMs: 0,
  prefillTokensPerSecond: Number.POSITIVE_INFINITY,
};

interface Seen {
  first: Map<number, number>;
  finish: Map<number, number>;
}

function engine(parameters: Partial<EngineParameters>): { model: EngineModel; seen: Seen } {
  const seen: Seen = { first: new Map(), finish: new Map() };
  const model = new EngineModel(parameters, {
    onFirstToken: (id, nowMs) => seen.first.set(id, nowMs),
    onFinish: (id, nowMs) => seen.finish.set(id, nowMs),
  });
  return { model, seen };
}

function hashes(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => from + i);
}

describe('EngineModel', () => {
  it('is idle until a request comes, and idle again after it', () => {
    const { model, seen } = engine(simple);
    expect(model.nextEventMs).toBe(Number.POSITIVE_INFINITY);
    model.submit({ id: 1, promptTokens: 100, outputTokens: 3, ...plain }, 5);
    expect(model.nextEventMs).toBe(5);
    model.advance(1000);
    expect(seen.first.get(1)).toBe(15);
    expect(seen.finish.get(1)).toBe(35);
    expect(model.nextEventMs).toBe(Number.POSITIVE_INFINITY);
    expect(model.gauges).toMatchObject({ running: 0, waiting: 0, kvUsageRatio: 0 });
    expect(model.gauges).toMatchObject({ promptTokensTotal: 100, generationTokensTotal: 3 });
  });

  it('charges a step for its sequences, context and prompt tokens, and divides by speed', () => {
    const { model, seen } = engine({ speed: 0.5 });
    model.submit({ id: 1, promptTokens: 2000, outputTokens: 1, ...plain }, 0);
    model.advance(1000);
    expect(seen.first.get(1)).toBeCloseTo(2 * (8 + 0.02 + 0.08 + 100), 6);
  });

  it('computes a long prompt in chunks and lets others decode beside it', () => {
    const tokens: number[] = [];
    const model = new EngineModel(
      { ...simple, stepTokensMax: 1000 },
      { onToken: (id, nowMs) => id === 1 && tokens.push(nowMs) },
    );
    model.submit({ id: 1, promptTokens: 10, outputTokens: 5, ...plain }, 0);
    model.submit({ id: 2, promptTokens: 2500, outputTokens: 1, ...plain }, 0);
    model.advance(1000);
    expect(tokens).toEqual([10, 20, 30, 40, 50]);
    expect(model.gauges.ttftSumMs).toBe(10 + 30);
  });

  it('publishes gauges at the end of a step only', () => {
    const { model } = engine({ ...simple, runningMax: 1 });
    model.submit({ id: 1, promptTokens: 10, outputTokens: 10, ...plain }, 0);
    model.advance(0);
    model.submit({ id: 2, promptTokens: 10, outputTokens: 10, ...plain }, 3);
    model.advance(9);
    expect(model.gauges).toMatchObject({ running: 0, waiting: 0 });
    model.advance(10);
    expect(model.gauges).toMatchObject({ publishedMs: 10, running: 1, waiting: 1 });
  });

  it('reuses the cached prefix of an earlier prompt, but always computes its last token', () => {
    const { model, seen } = engine({
      stepBaseMs: 0,
      stepPerSequenceMs: 0,
      stepPerKvKilotokenMs: 0,
    });
    const request = { promptTokens: 1600, outputTokens: 1, blockHashes: hashes(1, 100) };
    model.submit({ id: 1, ...request }, 0);
    model.advance(1000);
    model.submit({ id: 2, ...request }, 1000);
    model.advance(2000);
    expect(seen.first.get(1)).toBeCloseTo(80, 6);
    expect(seen.first.get(2)! - 1000).toBeCloseTo(16 / 20, 6);
    expect(model.gauges.prefixQueryTokensTotal).toBe(3200);
    expect(model.gauges.prefixHitTokensTotal).toBe(1584);
  });

  it('caches the whole blocks of an answer where the request names them', () => {
    const { model } = engine({ ...simple, blockTokens: 10, kvCapacityTokens: 1000 });
    // 25 tokens of prompt, 2 blocks; with 26 of the answer, of which the last has no KV: 5 blocks.
    const first = { id: 1, promptTokens: 25, outputTokens: 26, blockHashes: hashes(0, 9) };
    model.submit(first, 0);
    model.advance(20);
    expect(model.inside.cachedBlocks(hashes(0, 9), 9)).toBe(2);
    model.advance(1000);
    expect(model.inside.cachedBlocks(hashes(0, 9), 9)).toBe(5);
    expect(model.inside.kvBlocksUsed).toBe(0);
    model.submit({ id: 2, promptTokens: 60, outputTokens: 1, blockHashes: hashes(0, 6) }, 1000);
    model.advance(2000);
    expect(model.gauges.prefixHitTokensTotal).toBe(50);
  });

  it('evicts the end of a prompt before its beginning', () => {
    const { model } = engine({ ...simple, blockTokens: 10, kvCapacityTokens: 100 });
    model.submit({ id: 1, promptTokens: 60, outputTokens: 1, blockHashes: hashes(0, 6) }, 0);
    model.advance(1000);
    model.submit({ id: 2, promptTokens: 65, outputTokens: 1, blockHashes: hashes(50, 6) }, 1000);
    model.advance(2000);
    expect(model.inside.cachedBlocks(hashes(0, 6), 6)).toBe(3);
    expect(model.inside.cachedBlocks(hashes(50, 6), 6)).toBe(6);
  });

  it('shows what is inside at any moment, unlike its gauges', () => {
    const { model } = engine({ ...simple, runningMax: 1, stepTokensMax: 50 });
    model.submit({ id: 1, promptTokens: 120, outputTokens: 1, ...plain }, 0);
    model.submit({ id: 2, promptTokens: 10, outputTokens: 1, ...plain }, 0);
    model.advance(0);
    expect(model.inside).toMatchObject({ running: 1, waiting: 1, prefillTokensLeft: 70 });
    expect(model.inside).toMatchObject({ contextTokens: 50 });
    expect(model.inside.waitingAt(0).id).toBe(2);
    expect(() => model.inside.waitingAt(1)).toThrow('nothing waits there');
    expect(model.gauges).toMatchObject({ running: 0, waiting: 0 });
  });

  it('forgets the least recently used prefix when room is needed', () => {
    const { model } = engine({ ...simple, kvCapacityTokens: 3200 });
    const prompt = (id: number, from: number) => {
      model.submit(
        { id, promptTokens: 1600, outputTokens: 1, blockHashes: hashes(from, 100) },
        id * 1000,
      );
      model.advance(id * 1000 + 999);
    };
    prompt(1, 1000);
    prompt(2, 2000);
    prompt(3, 1000);
    expect(model.gauges.prefixHitTokensTotal).toBe(1584);
    prompt(4, 3000); // pushes out prompt 2
    prompt(5, 1000);
    expect(model.gauges.prefixHitTokensTotal).toBe(2 * 1584);
    prompt(6, 2000);
    expect(model.gauges.prefixHitTokensTotal).toBe(2 * 1584);
  });

  it('preempts the newest sequence when the KV cache is full, and recomputes it later', () => {
    const { model, seen } = engine({ ...simple, kvCapacityTokens: 160 });
    model.submit({ id: 1, promptTokens: 64, outputTokens: 40, ...plain }, 0);
    model.submit({ id: 2, promptTokens: 64, outputTokens: 40, ...plain }, 0);
    model.advance(10_000);
    expect(model.gauges.preemptionsTotal).toBeGreaterThan(0);
    expect(seen.finish.get(1)).toBe(400);
    expect(seen.finish.get(2)).toBeGreaterThan(400);
    expect(model.gauges.generationTokensTotal).toBe(80);
    expect(model.gauges.interTokenCount).toBe(78);
    expect(model.gauges.kvUsageRatio).toBe(0);
  });

  it('refuses a request that can never fit, an id in use and an empty request', () => {
    const { model } = engine({ kvCapacityTokens: 160 });
    expect(model.submit({ id: 1, promptTokens: 150, outputTokens: 20, ...plain }, 0)).toBe(false);
    expect(model.submit({ id: 1, promptTokens: 10, outputTokens: 20, ...plain }, 0)).toBe(true);
    expect(() => model.submit({ id: 1, promptTokens: 1, outputTokens: 1, ...plain }, 0)).toThrow();
    expect(() => model.submit({ id: 2, promptTokens: 0, outputTokens: 1, ...plain }, 0)).toThrow();
  });

  it('drops a cancelled request, waiting or running, without a word', () => {
    const { model, seen } = engine({ ...simple, runningMax: 1 });
    model.submit({ id: 1, promptTokens: 10, outputTokens: 100, ...plain }, 0);
    model.submit({ id: 2, promptTokens: 10, outputTokens: 2, ...plain }, 0);
    model.submit({ id: 3, promptTokens: 10, outputTokens: 2, ...plain }, 0);
    model.advance(15);
    expect(model.cancel(1)).toBe(true);
    expect(model.cancel(2)).toBe(true);
    expect(model.cancel(2)).toBe(false);
    model.advance(1000);
    expect([...seen.finish]).toEqual([[3, 40]]);
    expect(model.alive).toBe(0);
  });

  it('lets a callback submit the next request of a client', () => {
    let served = 0;
    const model: EngineModel = new EngineModel(simple, {
      onFinish: (id, nowMs) => {
        served++;
        if (id < 9) model.submit({ id: id + 1, promptTokens: 5, outputTokens: 1, ...plain }, nowMs);
      },
    });
    model.submit({ id: 0, promptTokens: 5, outputTokens: 1, ...plain }, 0);
    model.advance(100);
    expect(served).toBe(10);
  });

  it('keeps its books under random load: all finish, nothing is held at the end', () => {
    const random = new SeededRandom(11);
    const { model, seen } = engine({ kvCapacityTokens: 8000, runningMax: 24 });
    const alive = new Set<number>();
    let nowMs = 0;
    for (let id = 0; id < 3000; id++) {
      nowMs += random.exponential(40);
      model.advance(nowMs);
      const promptTokens = 1 + random.integer(random.next() < 0.1 ? 4000 : 400);
      const blockHashes = hashes(random.integer(20) * 1000, Math.floor(promptTokens / 16));
      model.submit({ id, promptTokens, outputTokens: 1 + random.integer(60), blockHashes }, nowMs);
      alive.add(id);
      const victim = random.integer(id + 1);
      if (random.next() < 0.05 && model.cancel(victim)) alive.delete(victim);
    }
    model.advance(Number.MAX_SAFE_INTEGER);
    expect(model.alive).toBe(0);
    expect(model.gauges).toMatchObject({ running: 0, waiting: 0, kvUsageRatio: 0 });
    expect(model.gauges.preemptionsTotal).toBeGreaterThan(0);
    for (const id of alive) expect(seen.finish.has(id)).toBe(true);
    expect(seen.finish.size).toBe(alive.size);
  });
});
