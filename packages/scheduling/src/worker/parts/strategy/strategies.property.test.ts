/** What must hold of every strategy, whatever the numbers are. */

import { trust } from '@leadsman/view/trust';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Endpoint } from '../../../endpoint.ts';
import { createRig, endpointsOf, type Rig } from '../../../fixture/scheduler-rig.ts';
import { isFeedFailing } from '../../candidates/saturation.ts';
import * as catalog from '../../policy/catalog.ts';

const names = Object.keys(catalog.strategies);
const utf8 = new TextEncoder();

/** One endpoint's report: any number may be unknown, odd or missing. */
const report = fc.record({
  running: fc.option(fc.nat(500), { nil: Number.NaN }),
  waiting: fc.option(fc.nat(500), { nil: Number.NaN }),
  kv: fc.option(fc.double({ min: 0, max: 1.2, noNaN: true }), { nil: Number.NaN }),
  capacity: fc.option(fc.nat(1_000_000), { nil: Number.NaN }),
  ageMs: fc.constantFrom(10, 500, 1_900, 2_100, 60_000),
  flags: fc.constantFrom(0, 0, 0, 1, 2),
  isKnown: fc.boolean(),
});

const request = fc.record({
  prompt: fc.option(fc.string({ maxLength: 2_000 }), { nil: undefined }),
  promptTokens: fc.nat(20_000),
  model: fc.constantFrom('', 'base', 'adapter-a', 'adapter-b'),
  session: fc.option(fc.string({ maxLength: 10 }), { nil: undefined }),
  subset: fc.option(fc.array(fc.nat(12), { maxLength: 4 }), { nil: undefined }),
});

type Report = typeof report extends fc.Arbitrary<infer T> ? T : never;
type Request = typeof request extends fc.Arbitrary<infer T> ? T : never;

const nowMs = 100_000;

function state(rig: Rig, endpoints: readonly Endpoint[], reports: readonly Report[]): void {
  for (const [i, { isKnown, running, waiting, kv, capacity, ageMs, flags }] of reports.entries()) {
    if (!isKnown) continue;
    rig.gauges.report(endpoints[i]!, {
      measuredAtMs: nowMs - ageMs,
      flags,
      runningRequests: running,
      waitingRequests: waiting,
      kvCacheUsageRatio: kv,
      kvCacheCapacityTokens: capacity,
      loraSlotsMax: i % 2 === 0 ? 2 : Number.NaN,
    });
    rig.gauges.describe(endpoints[i]!, { models: ['base'], loraRunning: ['adapter-a'] });
  }
  rig.scheduler.tick(nowMs);
}

function facts(given: Request, endpoints: readonly Endpoint[]): object {
  const prompt = given.prompt === undefined ? undefined : utf8.encode(given.prompt);
  return {
    nowMs,
    prompt,
    promptTokens: given.promptTokens,
    model: given.model,
    header: (name: string) => (name === 'x-session-id' ? given.session : undefined),
    subset: given.subset?.map((at) => endpoints[at % endpoints.length]!.destination),
  };
}

async function run(
  name: string,
  seed: number,
  reports: readonly Report[],
  requests: readonly Request[],
): Promise<string[]> {
  const endpoints = endpointsOf(reports.length);
  const config = `default: { strategy: ${name} }`;
  const rig = await createRig({ config, endpoints, seed, nowMs });
  state(rig, endpoints, reports);
  const tickets: number[] = [];
  const destinations: string[] = [];
  for (const given of requests) {
    const sent = facts(given, endpoints) as { subset: string[] | undefined };
    const pick = rig.pick(sent);
    destinations.push(pick.destination);
    const isNobodyAllowed = sent.subset?.length === 0;
    expect(pick.status).toBe(isNobodyAllowed ? 'no_endpoint' : 'picked');
    if (pick.status !== 'picked') continue;
    tickets.push(pick.ticket);
    const eligible = sent.subset ?? endpoints.map(({ destination }) => destination);
    expect(eligible).toContain(pick.destination);
    expectBestClass(rig, eligible, pick.destination);
  }
  for (const [i, ticket] of tickets.entries()) {
    if (i % 2 === 0) rig.scheduler.firstToken(ticket);
    rig.scheduler.release(ticket, { outputTokens: i, aborted: false });
    rig.scheduler.release(ticket, { outputTokens: i, aborted: true });
  }
  for (const { index } of endpoints) {
    for (const field of [0, 1, 2, 3] as const) expect(rig.inFlight.total(index, field)).toBe(0);
  }
  return destinations;
}

/**
 * No endpoint may be picked while one with better numbers to believe is eligible; stale ones may,
 * while the few fresh ones are full.
 */
function expectBestClass(rig: Rig, eligible: readonly string[], picked: string): void {
  const { table, policy } = rig.scheduler.pools.get('test/pool')!;
  const classOf = (destination: string): number =>
    table.trust[table.endpoints.findIndex((endpoint) => endpoint.destination === destination)]!;
  const best = Math.min(...eligible.map(classOf));
  if (best === trust.fresh && isFeedFailing(table, policy.saturation)) {
    expect(classOf(picked)).toBeLessThanOrEqual(trust.stale);
  } else expect(classOf(picked)).toBe(best);
}

describe.each(names)('strategy %s', (name) => {
  it('picks an eligible endpoint of the best class and leaves nothing in flight', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(report, { minLength: 1, maxLength: 20 }),
        fc.array(request, { minLength: 1, maxLength: 8 }),
        async (reports, requests) => void (await run(name, 7, reports, requests)),
      ),
      { numRuns: 40 },
    );
  });

  it('makes the same picks again under the same seed', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(report, { minLength: 1, maxLength: 20 }),
        fc.array(request, { minLength: 1, maxLength: 8 }),
        fc.nat(1_000_000),
        async (reports, requests, seed) => {
          const first = await run(name, seed, reports, requests);
          expect(await run(name, seed, reports, requests)).toEqual(first);
        },
      ),
      { numRuns: 15 },
    );
  });
});

/** Strategies by load: more of it, everything else alike, never draws more requests. */
const byLoad = names.filter((name) => name !== 'random' && name !== 'round-robin');

describe.each(byLoad)('strategy %s under load', (name) => {
  it('never prefers the endpoint that has more of everything', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(40),
        fc.nat(40),
        fc.double({ min: 0, max: 0.5, noNaN: true }),
        fc.integer({ min: 1, max: 40 }),
        async (running, waiting, kv, more) => {
          const endpoints = endpointsOf(2);
          const rig = await createRig({
            config: `default: { strategy: ${name} }`,
            endpoints,
            nowMs,
          });
          const reportOf = (extra: number): object => ({
            measuredAtMs: nowMs - 10,
            runningRequests: running + extra,
            waitingRequests: waiting + extra,
            kvCacheUsageRatio: kv + extra / 100,
            kvCacheCapacityTokens: 400_000,
          });
          rig.gauges.report(endpoints[0]!, reportOf(0) as never);
          rig.gauges.report(endpoints[1]!, reportOf(more) as never);
          const pick = rig.pick({ nowMs, promptTokens: 100 });
          expect(pick.destination).toBe(endpoints[0]!.destination);
        },
      ),
      { numRuns: 40 },
    );
  });
});
