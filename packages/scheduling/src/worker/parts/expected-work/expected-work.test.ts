import { describe, expect, it } from 'vitest';
import {
  createRig,
  endpointsOf,
  poolName,
  type Rig,
  tally,
} from '../../../fixture/scheduler-rig.ts';
import type { PickResult, RequestFacts } from '../../../scheduler.ts';
import { InFlightField } from '../../../shared/in-flight-table.ts';
import { remoteHeader } from '../../../shared/remote-words.ts';

const nowMs = 10_000;
/** 4,000 bytes: 15 whole blocks of some 64 tokens each. */
const prompt = new TextEncoder().encode('All human beings are born free. '.repeat(125));
const promptTokens = 1_000;

async function rigOf(count: number): Promise<Rig> {
  const config = 'default: { strategy: expected-work }';
  return await createRig({ config, endpoints: endpointsOf(count), nowMs });
}

/** An idle endpoint's report, with some numbers otherwise. */
function report(rig: Rig, index: number, numbers: object = {}): void {
  rig.gauges.report(endpointsOf(index + 1)[index]!, {
    measuredAtMs: nowMs - 20,
    runningRequests: 0,
    waitingRequests: 0,
    kvCacheUsageRatio: 0,
    kvCacheCapacityTokens: 400_000,
    ...numbers,
  });
}

/** Picks for a request that ends at once, so that nothing stays in flight. */
function passBy(rig: Rig, facts: Partial<RequestFacts> = { promptTokens: 500 }): PickResult {
  const pick = rig.pick(facts);
  rig.scheduler.release(pick.ticket, { outputTokens: 10, aborted: false });
  return pick;
}

function picksOf(rig: Rig, count: number, facts?: Partial<RequestFacts>): number[] {
  return Array.from({ length: count }, () => passBy(rig, facts).endpoint!.index);
}

describe('expected-work', () => {
  it('spreads requests among equal endpoints', async () => {
    const rig = await rigOf(4);
    const picks = Array.from({ length: 200 }, () => passBy(rig));
    for (const picked of tally(picks).values()) expect(picked).toBeGreaterThan(25);
  });

  it('weighs tokens, not requests', async () => {
    const rig = await rigOf(2);
    rig.inFlight.add(0, InFlightField.requests, 1);
    rig.inFlight.add(0, InFlightField.pendingTokens, 20_000);
    rig.inFlight.add(1, InFlightField.requests, 5);
    rig.inFlight.add(1, InFlightField.pendingTokens, 500);
    expect(new Set(picksOf(rig, 20))).toEqual(new Set([1]));
  });

  it('counts reported requests that no ledger knows of', async () => {
    const rig = await rigOf(2);
    report(rig, 0, { runningRequests: 40, waitingRequests: 3 });
    report(rig, 1);
    expect(new Set(picksOf(rig, 20))).toEqual(new Set([1]));
  });

  it('returns to where the prompt was sent before, even among many endpoints', async () => {
    const rig = await rigOf(200);
    const first = passBy(rig, { prompt, promptTokens }).endpoint!.index;
    expect(new Set(picksOf(rig, 20, { prompt, promptTokens }))).toEqual(new Set([first]));
  });

  it('finds a prompt only where its cache identity has been', async () => {
    const rig = await rigOf(2);
    const tokens = { prompt, promptTokens };
    const home = passBy(rig, { ...tokens, cacheIdentity: 'tenant-a' }).endpoint!.index;
    rig.inFlight.add(home, InFlightField.requests, 1);
    for (const cacheIdentity of ['tenant-b', '']) {
      expect(rig.pick({ ...tokens, cacheIdentity }).endpoint!.index).toBe(1 - home);
      rig.inFlight.add(home, InFlightField.requests, 1);
      rig.inFlight.add(home, InFlightField.pendingTokens, promptTokens);
    }
    rig.inFlight.add(home, InFlightField.pendingTokens, -2 * promptTokens);
    expect(rig.pick({ ...tokens, cacheIdentity: 'tenant-a' }).endpoint!.index).toBe(home);
  });

  it('gives the cached prompt up where waiting takes longer than computing it anew', async () => {
    const rig = await rigOf(4);
    const first = passBy(rig, { prompt, promptTokens }).endpoint!.index;
    rig.inFlight.add(first, InFlightField.pendingTokens, 1_000);
    expect(passBy(rig, { prompt, promptTokens }).endpoint!.index).toBe(first);
    rig.inFlight.add(first, InFlightField.pendingTokens, 10_000);
    expect(passBy(rig, { prompt, promptTokens }).endpoint!.index).not.toBe(first);
  });

  it('avoids an endpoint whose KV cache is nearly full', async () => {
    const rig = await rigOf(2);
    report(rig, 0, { kvCacheUsageRatio: 0.95 });
    report(rig, 1);
    rig.inFlight.add(1, InFlightField.pendingTokens, 400);
    expect(new Set(picksOf(rig, 20))).toEqual(new Set([1]));
  });

  it('does not let a full KV cache outweigh more than the request itself takes', async () => {
    const rig = await rigOf(2);
    report(rig, 0, { kvCacheUsageRatio: 0.99 });
    report(rig, 1);
    rig.inFlight.add(0, InFlightField.promptTokens, 3_000_000);
    // Beside it stands what decoding in a full cache costs, some 8,000 tokens.
    rig.inFlight.add(1, InFlightField.pendingTokens, 10_000);
    expect(new Set(picksOf(rig, 20))).toEqual(new Set([0]));
  });

  it('counts a request as one that decodes from its pick on', async () => {
    const rig = await rigOf(8);
    passBy(rig, { prompt, promptTokens });
    const picked = Array.from({ length: 200 }, () => {
      const pick = rig.pick({ prompt, promptTokens });
      rig.scheduler.firstToken(pick.ticket);
      return pick;
    });
    // Cached or not, eight endpoints share 200 requests of one beginning.
    const counts = [...tally(picked).values()];
    expect(counts).toHaveLength(8);
    expect(Math.max(...counts) / Math.min(...counts)).toBeLessThanOrEqual(1.5);
  });

  it('spreads a burst over equal endpoints', async () => {
    const rig = await rigOf(8);
    for (let index = 0; index < 8; index++) report(rig, index);
    const picked = Array.from({ length: 64 }, (_, i) => rig.pick({ nowMs: nowMs + i * 0.3 }));
    for (const count of tally(picked).values()) {
      expect(count).toBeGreaterThanOrEqual(5);
      expect(count).toBeLessThanOrEqual(12);
    }
  });

  it('gives a faster endpoint more work', async () => {
    const rig = await rigOf(2);
    report(rig, 0);
    report(rig, 1);
    passBy(rig);
    rig.scheduler.pools.get(poolName)!.table.speed[1] = 2;
    rig.inFlight.add(0, InFlightField.pendingTokens, 2_000);
    rig.inFlight.add(1, InFlightField.pendingTokens, 3_000);
    expect(new Set(picksOf(rig, 20))).toEqual(new Set([1]));
  });

  it('assumes that other replicas did as it did, until they have told', async () => {
    const rig = await rigOf(2);
    const words = new Int32Array(rig.memory.remote);
    words[remoteHeader.replicas] = 2;
    words[remoteHeader.shareDelayMs] = 20;
    const first = passBy(rig, { requestId: 'a', promptTokens: 500 }).endpoint!.index;
    const second = passBy(rig, { requestId: 'b', promptTokens: 100 }).endpoint!.index;
    expect(second).toBe(1 - first);
    expect(passBy(rig, { requestId: 'c', promptTokens: 500 }).endpoint!.index).toBe(second);
    const later = Array.from({ length: 40 }, (_, i) => {
      const facts = { requestId: `d${i}`, promptTokens: 500, nowMs: nowMs + 50 * (i + 1) };
      return passBy(rig, facts).endpoint!.index;
    });
    expect(new Set(later).size).toBe(2);
  });

  it('charges the endpoint that was picked, not those named as fallbacks', async () => {
    const config = 'default: { strategy: expected-work, fallbacks: 2 }';
    const rig = await createRig({ config, endpoints: endpointsOf(3), nowMs });
    const words = new Int32Array(rig.memory.remote);
    words[remoteHeader.replicas] = 2;
    words[remoteHeader.shareDelayMs] = 20;
    for (let round = 0; round < 10; round++) {
      const atMs = nowMs + 100 * round;
      // Without an id, as from a gateway that sets none.
      const facts = { requestId: '', promptTokens: 500, nowMs: atMs };
      const three = [1, 2, 3].map(() => passBy(rig, facts).endpoint!.index);
      expect(new Set(three).size).toBe(3);
    }
  });

  it('keeps a long prompt away from where many requests decode', async () => {
    const rig = await rigOf(2);
    rig.inFlight.add(0, InFlightField.requests, 40);
    rig.inFlight.add(0, InFlightField.decoding, 40);
    rig.inFlight.add(1, InFlightField.pendingTokens, 10_000);
    expect(passBy(rig, { promptTokens: 500 }).endpoint!.index).toBe(0);
    expect(passBy(rig, { promptTokens: 30_000 }).endpoint!.index).toBe(1);
  });

  it('prefers endpoints that have the adapter, unless they are far busier', async () => {
    const rig = await rigOf(3);
    const endpoints = endpointsOf(3);
    for (const endpoint of endpoints) {
      const loraRunning = endpoint.index === 2 ? ['adapter'] : [];
      report(rig, endpoint.index, { loraSlotsMax: 4 });
      rig.gauges.describe(endpoint, { models: ['base'], loraRunning });
    }
    const facts = { promptTokens: 500, model: 'adapter' };
    expect(passBy(rig, facts).endpoint!.index).toBe(2);
    rig.inFlight.add(2, InFlightField.pendingTokens, 50_000);
    expect(passBy(rig, facts).endpoint!.index).not.toBe(2);
  });

  it('finds the adapter among more endpoints than it draws', async () => {
    const rig = await rigOf(100);
    for (const endpoint of endpointsOf(100)) {
      report(rig, endpoint.index, { loraSlotsMax: 4 });
      const loraRunning = endpoint.index === 77 ? ['adapter'] : [];
      rig.gauges.describe(endpoint, { models: ['base'], loraRunning });
    }
    expect(passBy(rig, { promptTokens: 500, model: 'adapter' }).endpoint!.index).toBe(77);
  });
});
