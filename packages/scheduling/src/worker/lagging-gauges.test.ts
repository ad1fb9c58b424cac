/**
 * Gauges that lag: engines have been seen to report 0 for 18 s at a cold start. A burst must be
 * spread by what pickers know they sent, and nothing may be counted twice when the gauges catch up.
 */
import { describe, expect, it } from 'vitest';
import { createRig, endpointsOf, poolName, type Rig, tally } from '../fixture/scheduler-rig.ts';
import type { PickResult } from '../scheduler.ts';

const strategies = ['least-load', 'expected-work', 'least-request'];

function reportBoth(rig: Rig, nowMs: number, running: readonly [number, number]): void {
  const { table } = rig.scheduler.pools.get(poolName)!;
  for (const [i, endpoint] of table.endpoints.entries()) {
    const numbers = { runningRequests: running[i]!, waitingRequests: 0, kvCacheUsageRatio: 0.1 };
    rig.gauges.report(endpoint, { measuredAtMs: nowMs - 5, ...numbers });
  }
}

describe.each(strategies)('%s over gauges that stay at 0', (strategy) => {
  it('splits 40 requests evenly, and does not count them twice afterwards', async () => {
    const endpoints = endpointsOf(2);
    const rig = await createRig({ config: `default: { strategy: ${strategy} }`, endpoints });
    const picks: PickResult[] = [];
    let nowMs = 0;
    for (; nowMs <= 18_000; nowMs += 10) {
      if (nowMs % 50 === 0) {
        reportBoth(rig, nowMs, [0, 0]);
        if (picks.length < 40) picks.push(rig.pick({ nowMs, promptTokens: 200 }));
      }
      rig.scheduler.tick(nowMs);
    }
    const counts = [...tally(picks).values()].sort((a, b) => a - b);
    expect(counts.length).toBe(2);
    expect(counts[0]).toBeGreaterThanOrEqual(16);

    // The gauges jump to the truth: what they now say is what the ledger says already.
    const byEndpoint = endpoints.map(({ destination }) => tally(picks).get(destination)!);
    reportBoth(rig, nowMs, [byEndpoint[0]!, byEndpoint[1]!]);
    rig.scheduler.tick(nowMs);
    const { table, ledger } = rig.scheduler.pools.get(poolName)!;
    for (const i of [0, 1]) {
      expect(table.unseenRequests[i]).toBe(0);
      expect(ledger.requests(endpoints[i]!.index)).toBe(byEndpoint[i]);
    }
  });

  it('adds traffic that no picker sent, once', async () => {
    const endpoints = endpointsOf(2);
    const rig = await createRig({ config: `default: { strategy: ${strategy} }`, endpoints });
    const { table } = rig.scheduler.pools.get(poolName)!;
    let nowMs = 0;
    const mine: PickResult[] = [];
    for (; nowMs < 400; nowMs += 10) {
      if (nowMs < 100) mine.push(rig.pick({ nowMs, promptTokens: 200 }));
      rig.scheduler.tick(nowMs);
    }
    const [first = 0, second = 0] = endpoints.map(
      ({ destination }) => tally(mine).get(destination) ?? 0,
    );
    reportBoth(rig, nowMs, [first + 7, second]);
    rig.scheduler.tick(nowMs);
    expect([...table.unseenRequests]).toEqual([7, 0]);
    // Requests end: the ledger forgets them at once, the other traffic stays.
    for (const { ticket } of mine) {
      rig.scheduler.release(ticket, { outputTokens: 1, aborted: false });
    }
    rig.scheduler.tick(nowMs + 10);
    expect([...table.unseenRequests]).toEqual([7, 0]);
    const after = rig.pick({ nowMs: nowMs + 20, promptTokens: 200 });
    expect(after.destination).toBe(endpoints[1]!.destination);
  });
});
