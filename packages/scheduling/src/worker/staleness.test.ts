/** Endpoints whose numbers cannot be believed: stale, unknown, wedged, asleep. */
import { reason, reportFlag } from '@leadsman/wire';
import { describe, expect, it } from 'vitest';
import { createRig, endpointsOf, poolUpdate, tally } from '../fixture/scheduler-rig.ts';

const nowMs = 1_000_000;
const strategies = ['least-load', 'expected-work', 'least-request', 'random', 'round-robin'];

describe.each(strategies)('under %s', (strategy) => {
  const config = `default: { strategy: ${strategy} }`;

  it('an endpoint that stopped reporting while idle gets nothing until it is the last', async () => {
    const endpoints = endpointsOf(3);
    const rig = await createRig({ config, endpoints, nowMs });
    const report = (at: number, waiting: number, ageMs: number): void => {
      const numbers = { runningRequests: 0, waitingRequests: waiting };
      rig.gauges.report(endpoints[at]!, { measuredAtMs: nowMs - ageMs, ...numbers });
    };
    report(0, 0, 30_000);
    report(1, 3, 200);
    report(2, 4, 200);
    const picks = Array.from({ length: 100 }, () => rig.pick({ nowMs }));
    expect(tally(picks).get(endpoints[0]!.destination)).toBeUndefined();
    expect(picks.every(({ status }) => status === 'picked')).toBe(true);

    rig.scheduler.updatePool(poolUpdate([endpoints[0]!], 2), nowMs);
    const later = Array.from({ length: 10 }, () => rig.pick({ nowMs }));
    expect(tally(later)).toEqual(new Map([[endpoints[0]!.destination, 10]]));
    expect(new Set(later.map(({ reason }) => reason))).toEqual(new Set(['last_resort']));
  });

  it('an engine that claims work while its token counters stand still gets one request at most', async () => {
    const endpoints = endpointsOf(3);
    const rig = await createRig({ config, endpoints, nowMs });
    for (const [i, endpoint] of endpoints.entries()) {
      rig.gauges.report(endpoint, {
        measuredAtMs: nowMs - 20,
        flags: i === 0 ? reportFlag.suspect : 0,
        runningRequests: i === 0 ? 0 : 20,
        waitingRequests: 3,
      });
    }
    const wedged = endpoints[0]!.destination;
    let atMs = nowMs;
    // Each pick sees the one before: the tables are refreshed in between.
    const pick = () => {
      atMs += 6;
      return rig.pick({ nowMs: atMs });
    };
    const picks = tally(Array.from({ length: 60 }, pick));
    // Nothing of ours was in it at first, so that its standing still proved nothing.
    expect(picks.get(wedged) ?? 0).toBeLessThanOrEqual(1);
    // Its counters move again: it is as good as its numbers, which are the best.
    const numbers = { runningRequests: 0, waitingRequests: 0 };
    rig.gauges.report(endpoints[0]!, { measuredAtMs: atMs, ...numbers });
    const after = tally(Array.from({ length: 60 }, pick));
    expect(after.get(wedged)).toBeGreaterThan(1);
  });

  it('gauges that stand still after the last request do not keep an idle engine idle', async () => {
    const endpoints = endpointsOf(2);
    const rig = await createRig({ config, endpoints, nowMs });
    let atMs = nowMs;
    const open: number[] = [];
    let idle = 0;
    for (let i = 0; i < 100; i++) {
      atMs += 100;
      // Its gauges show a batch that ended long ago, and are suspected for it.
      const stuck = { runningRequests: 24, waitingRequests: 0, flags: reportFlag.suspect };
      const moving = { runningRequests: 12, waitingRequests: 0 };
      rig.gauges.report(endpoints[0]!, { measuredAtMs: atMs - 20, ...stuck });
      rig.gauges.report(endpoints[1]!, { measuredAtMs: atMs - 20, ...moving });
      const picked = rig.pick({ nowMs: atMs });
      if (picked.destination === endpoints[0]!.destination) idle++;
      open.push(picked.ticket);
      // Requests end before the next comes.
      if (open.length > 0)
        rig.scheduler.release(open.shift()!, { outputTokens: 1, aborted: false });
    }
    expect(idle).toBeGreaterThanOrEqual(33);
  });

  it('a port that refuses connections is never first, and not when the others are full', async () => {
    const endpoints = endpointsOf(8);
    const rig = await createRig({ config, endpoints, nowMs });
    for (const [i, endpoint] of endpoints.entries()) {
      if (i === 0) {
        const full = { runningRequests: 40, waitingRequests: 6, kvCacheUsageRatio: 0.9 };
        rig.gauges.report(endpoint, { measuredAtMs: nowMs - 20, ...full });
      } else rig.gauges.report(endpoint, { measuredAtMs: Number.NaN, reason: reason.connect });
    }
    const picks = tally(Array.from({ length: 40 }, () => rig.pick({ nowMs })));
    expect(picks).toEqual(new Map([[endpoints[0]!.destination, 40]]));
    // A rank that starts later joins with its first answer.
    rig.gauges.report(endpoints[3]!, {
      measuredAtMs: nowMs,
      runningRequests: 0,
      waitingRequests: 0,
    });
    const later = tally(Array.from({ length: 40 }, () => rig.pick({ nowMs: nowMs + 10 })));
    expect(later.get(endpoints[3]!.destination)).toBeGreaterThan(0);
    expect(later.size).toBeLessThanOrEqual(2);
  });

  it('an engine that died is left at the first refused scrape, whatever it said before', async () => {
    const endpoints = endpointsOf(2);
    const rig = await createRig({ config, endpoints, nowMs });
    const numbers = { runningRequests: 0, waitingRequests: 0 };
    rig.gauges.report(endpoints[0]!, {
      measuredAtMs: nowMs - 60,
      reason: reason.connect,
      ...numbers,
    });
    rig.gauges.report(endpoints[1]!, { measuredAtMs: nowMs - 20, runningRequests: 30 });
    const picks = tally(Array.from({ length: 20 }, () => rig.pick({ nowMs })));
    expect(picks).toEqual(new Map([[endpoints[1]!.destination, 20]]));
  });

  it('the few that still report do not get the whole load once they are full', async () => {
    const endpoints = endpointsOf(8);
    const rig = await createRig({ config, endpoints, nowMs });
    const report = (at: number, waiting: number): void => {
      rig.gauges.report(endpoints[at]!, {
        measuredAtMs: nowMs - 20,
        runningRequests: 10,
        waitingRequests: waiting,
      });
    };
    const elsewhere = () => {
      const picks = tally(Array.from({ length: 80 }, () => rig.pick({ nowMs })));
      return 80 - (picks.get(endpoints[0]!.destination) ?? 0);
    };
    report(0, 4);
    expect(elsewhere()).toBe(0);
    report(0, 5);
    expect(elsewhere()).toBeGreaterThan(40);
    // With most of the pool fresh it is the silent ones that are at fault.
    for (let at = 0; at < 4; at++) report(at, 9);
    const silent = new Set(endpoints.slice(4).map(({ destination }) => destination));
    const picks = tally(Array.from({ length: 80 }, () => rig.pick({ nowMs })));
    expect([...picks.keys()].some((destination) => silent.has(destination))).toBe(false);
  });

  it('requests are spread when no endpoint has fresh numbers', async () => {
    const endpoints = endpointsOf(4);
    const rig = await createRig({ config, endpoints, nowMs });
    const flattering = { runningRequests: 0, waitingRequests: 0, kvCacheUsageRatio: 0 };
    rig.gauges.report(endpoints[0]!, { measuredAtMs: nowMs - 60_000, ...flattering });
    const picks = tally(Array.from({ length: 400 }, () => rig.pick({ nowMs })));
    for (const { destination } of endpoints) {
      expect(picks.get(destination)).toBeGreaterThan(60);
      expect(picks.get(destination)).toBeLessThan(140);
    }
  });
});

describe('an endpoint that sleeps', () => {
  it('is picked only when nothing else is there', async () => {
    const endpoints = endpointsOf(2);
    const rig = await createRig({ config: 'default: { strategy: random }', endpoints, nowMs });
    const numbers = { measuredAtMs: nowMs, runningRequests: 0, waitingRequests: 0 };
    rig.gauges.report(endpoints[0]!, { ...numbers, flags: reportFlag.sleeping });
    const picks = tally(Array.from({ length: 30 }, () => rig.pick({ nowMs })));
    // The other one was never heard of, and still it is awake for all that is known.
    expect(picks).toEqual(new Map([[endpoints[1]!.destination, 30]]));
  });
});
