/** What must hold of every scorer, filter and pick, alone and composed. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRig, endpointsOf, requestFacts } from '../../fixture/scheduler-rig.ts';
import * as catalog from '../policy/catalog.ts';
import type { PickContext } from './part.ts';

const nowMs = 50_000;
const number = fc.option(fc.double({ min: 0, max: 1e6, noNaN: true }), { nil: Number.NaN });
const ratio = fc.option(fc.double({ min: 0, max: 1.3, noNaN: true }), { nil: Number.NaN });
const numbers = fc.array(fc.tuple(number, number, ratio, number), { minLength: 1, maxLength: 30 });
type Numbers = typeof numbers extends fc.Arbitrary<infer T> ? T : never;

/** Parameters of the filters that need any. */
const filterParameters: Record<string, object> = { label: { label: 'zone' } };

async function contextOf(values: Numbers, sent: readonly number[]): Promise<PickContext> {
  const endpoints = endpointsOf(values.length, (i) => ({
    labels: i % 3 === 0 ? { zone: 'a' } : {},
  }));
  const rig = await createRig({ config: 'default: { strategy: random }', endpoints, nowMs });
  for (const [i, [running, waiting, kv, itl]] of values.entries()) {
    rig.gauges.report(endpoints[i]!, {
      measuredAtMs: nowMs - 10,
      runningRequests: running,
      waitingRequests: waiting,
      kvCacheUsageRatio: kv,
      interTokenSecondsSum: itl,
      interTokenCount: itl,
      loraSlotsMax: 2,
    });
    rig.gauges.describe(endpoints[i]!, { models: ['base'], loraRunning: i % 2 ? ['a', 'b'] : [] });
  }
  for (const at of sent) rig.inFlight.add(at % values.length, 0, 1);
  rig.scheduler.tick(nowMs);
  const pool = rig.scheduler.pools.get('test/pool')!;
  const prompt = new TextEncoder().encode('x'.repeat(1_024));
  const header = (name: string): string | undefined =>
    name === 'x-session-id' ? 'session-7' : undefined;
  pool.request = requestFacts({ nowMs, model: 'a', prompt, promptTokens: 256, header });
  pool.nowMs = nowMs;
  pool.prompt.begin(pool.request);
  return pool;
}

const sends = fc.array(fc.nat(100), { maxLength: 40 });

describe.each(Object.keys(catalog.scorers))('scorer %s', (name) => {
  it('gives numbers in 0..1, or abstains', async () => {
    await fc.assert(
      fc.asyncProperty(numbers, sends, async (values, sent) => {
        const context = await contextOf(values, sent);
        const candidates = Int32Array.from(values, (_, i) => i);
        const scores = new Float64Array(values.length).fill(Number.POSITIVE_INFINITY);
        catalog.scorers[name]!.create({}).score(context, candidates, values.length, scores);
        for (const score of scores) {
          expect(Number.isNaN(score) || (score >= 0 && score <= 1)).toBe(true);
        }
      }),
      { numRuns: 30 },
    );
  });
});

describe.each(Object.keys(catalog.filters))('filter %s', (name) => {
  it('keeps a part of the candidates and loses none of the others', async () => {
    await fc.assert(
      fc.asyncProperty(numbers, async (values) => {
        const context = await contextOf(values, []);
        const candidates = Int32Array.from(values, (_, i) => i);
        const filter = catalog.filters[name]!.create(filterParameters[name] ?? {});
        const kept = filter.filter(context, candidates, values.length);
        expect(kept).toBeGreaterThanOrEqual(0);
        expect(kept).toBeLessThanOrEqual(values.length);
        expect(candidates.toSorted()).toEqual(Int32Array.from(values, (_, i) => i));
      }),
      { numRuns: 30 },
    );
  });
});

describe.each(Object.keys(catalog.picks))('pick %s', (name) => {
  it('chooses one of the candidates, whatever the scores', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 30 }),
        async (scores) => {
          const context = await contextOf([[1, 1, 0.1, 1]], []);
          const candidates = Int32Array.from(scores, (_, i) => i);
          const pick = catalog.picks[name]!.create({});
          const chosen = pick.choose(context, candidates, scores.length, Float64Array.from(scores));
          expect(Number.isInteger(chosen) && chosen >= 0 && chosen < scores.length).toBe(true);
          if (name === 'max-score') expect(scores[chosen]).toBe(Math.max(...scores));
        },
      ),
      { numRuns: 30 },
    );
  });
});
