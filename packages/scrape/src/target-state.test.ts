import {
  decodeAttributes,
  decodeGone,
  decodeRanks,
  type MetricName,
  metric,
  metricNames,
  podKeyFromUid,
  readReport,
  reason,
  reportFlag,
} from '@leadsman/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emptyReading, type Reading } from './engine/reading.ts';
import type { TargetIdentity } from './target-identity.ts';
import { TargetState } from './target-state.ts';

const identity: TargetIdentity = {
  podUid: '0f3c1c1e-0000-4000-8000-000000000001',
  podName: 'llama-0',
  namespace: 'team',
  nodeName: 'n1',
  address: '10.0.0.7',
  port: 8_000,
  rank: 0,
  reporter: 'sidecar',
  metricsPort: '8000',
};

function reading(numbers: Partial<Record<MetricName, number>>, more: Partial<Reading> = {}) {
  const made = { ...emptyReading('vllm'), ...more };
  for (const [name, value] of Object.entries(numbers)) {
    made.metrics[metric[name as MetricName]] = value;
  }
  return made;
}

function create(options: Partial<TargetIdentity> = {}) {
  const clock = { now: 1_000, unix: 50_000 };
  const state = new TargetState(
    { ...identity, ...options },
    { scrapes: 3, forMs: 0 },
    { nowMs: () => clock.now, unixMs: () => clock.unix },
  );
  return { state, clock };
}

describe('TargetState', () => {
  it('is pending and all unknown before the first scrape', () => {
    const { state } = create();
    const report = readReport(state.reportBytes(1_500));
    expect(report.reason).toBe(reason.pending);
    expect(report.epoch).toBe(50_000);
    expect(report.ageMs).toBe(500);
    for (const name of metricNames) expect(report.metrics[metric[name]]).toBeNaN();
    expect(report.podKey).toEqual(podKeyFromUid(identity.podUid));
    expect(report.address).toBe('10.0.0.7');
    expect(report.port).toBe(8_000);
  });

  it('counts up from there, or what the first scrape says would pass for a repetition', () => {
    const { state } = create();
    const pending = readReport(state.reportBytes(1_000));
    state.fail(reason.timeout, 'no answer');
    expect(readReport(state.reportBytes(2_000)).seq).toBeGreaterThan(pending.seq);
  });

  it('ages from the beginning of the scrape that gave the numbers', () => {
    const { state } = create();
    state.succeed(reading({ runningRequests: 4 }), 2_000, 12);
    const report = readReport(state.reportBytes(2_040));
    expect(report.reason).toBe(reason.ok);
    expect(report.seq).toBe(2);
    expect(report.ageMs).toBe(40);
    expect(report.metrics[metric.runningRequests]).toBe(4);
    expect(report.metrics[metric.scrapeDurationMs]).toBe(12);
  });

  it('keeps the last numbers when a scrape fails, and lets them age', () => {
    const { state } = create();
    state.succeed(reading({ runningRequests: 4 }), 2_000, 12);
    state.fail(reason.timeout, 'no answer');
    const report = readReport(state.reportBytes(9_000));
    expect(report.reason).toBe(reason.timeout);
    expect(report.seq).toBe(3);
    expect(report.ageMs).toBe(7_000);
    expect(report.metrics[metric.runningRequests]).toBe(4);
    expect(state.detail).toBe('no answer');
  });

  it('forgets a number that the newest page does not state', () => {
    const { state } = create();
    state.succeed(reading({ runningRequests: 4, waitingRequests: 0 }), 2_000, 1);
    state.succeed(reading({ runningRequests: 4 }), 2_050, 1);
    expect(state.metrics[metric.waitingRequests]).toBeNaN();
    expect(state.isIdle).toBe(false);
  });

  // A restart.
  it('takes a counter that falls for a restart: a new epoch, and never suspect for that', () => {
    const { state, clock } = create();
    state.succeed(reading({ generationTokensTotal: 1_000, runningRequests: 1 }), 2_000, 1);
    clock.unix = 60_000;
    state.succeed(reading({ generationTokensTotal: 20, runningRequests: 1 }), 2_050, 1);
    expect(state.epoch).toBe(60_000);
    expect(state.seq).toBe(1);
    expect(state.suspect).toBe(false);
    expect(decodeAttributes(state.attributesBytes()).epoch).toBe(60_000);
    clock.unix = 10_000;
    state.succeed(reading({ generationTokensTotal: 3, runningRequests: 1 }), 2_100, 1);
    expect(state.epoch).toBe(60_001);
  });

  it('is not restarted by a counter that becomes unknown and comes back', () => {
    const { state } = create();
    state.succeed(reading({ promptTokensTotal: 10 }), 1, 1);
    state.succeed(reading({}), 2, 1);
    state.succeed(reading({ promptTokensTotal: 10 }), 3, 1);
    expect(state.epoch).toBe(50_000);
    expect(state.seq).toBe(4);
  });

  it('flags work without progress as suspect, and a sleeping engine as sleeping only', () => {
    const { state } = create();
    const stuck = { waitingRequests: 3, runningRequests: 0, generationTokensTotal: 9 };
    for (let i = 0; i < 5; i++) state.succeed(reading(stuck), i * 50, 1);
    expect(state.report(0).flags).toBe(reportFlag.suspect);
    state.succeed(reading(stuck, { sleeping: true }), 300, 1);
    expect(state.report(0).flags).toBe(reportFlag.sleeping);
  });

  it('says which numbers come from an agent', () => {
    const { state } = create({ reporter: 'agent' });
    expect(state.report(0).flags).toBe(reportFlag.byAgent);
  });

  it('sends attributes again only when they change', () => {
    const { state } = create();
    const first = state.attributesBytes();
    expect(decodeAttributes(first)).toMatchObject({ podName: 'llama-0', engine: '', models: [] });
    state.succeed(reading({}, { models: ['m'], loraRunning: [], loraWaiting: [] }), 1, 1);
    const second = state.attributesBytes();
    expect(decodeAttributes(second)).toMatchObject({
      engine: 'vllm',
      models: ['m'],
      loraRunning: [],
      revision: 2,
      reporter: 'sidecar',
    });
    state.succeed(reading({}, { models: ['m'], loraRunning: [], loraWaiting: [] }), 2, 1);
    expect(state.attributesBytes()).toBe(second);
    state.succeed(reading({}, { models: ['m'], loraRunning: ['a'], loraWaiting: [] }), 3, 1);
    expect(decodeAttributes(state.attributesBytes())).toMatchObject({
      loraRunning: ['a'],
      revision: 3,
    });
  });

  it('sends the numbers of ranks when there are several', () => {
    const { state } = create();
    const rank = (id: number) => ({
      rank: id,
      runningRequests: id,
      waitingRequests: Number.NaN,
      kvCacheUsageRatio: 0.5,
    });
    state.succeed(reading({}, { ranks: [rank(0)], engineRanks: 1 }), 1, 1);
    expect(state.ranksBytes()).toBeUndefined();
    state.succeed(reading({}, { ranks: [rank(0), rank(1)], engineRanks: 2 }), 2, 1);
    const ranks = decodeRanks(state.ranksBytes() as Uint8Array);
    expect(ranks.seq).toBe(3);
    expect(ranks.ranks[1]).toEqual(rank(1));
    expect(state.report(0).engineRanks).toBe(2);
  });

  it('tells the version of its engine in new attributes, and forgets it at a restart', () => {
    const { state } = create();
    state.succeed(reading({ generationTokensTotal: 9 }), 1, 1);
    const { revision } = state;
    const before = state.attributesBytes();
    state.engineVersion = '0.11.0';
    expect(state.revision).toBe(revision + 1);
    expect(decodeAttributes(state.attributesBytes()).engineVersion).toBe('0.11.0');
    const after = state.attributesBytes();
    expect(after).not.toBe(before);
    state.engineVersion = '0.11.0';
    state.succeed(reading({ generationTokensTotal: 10 }), 2, 1);
    expect(state.attributesBytes()).toBe(after);
    state.succeed(reading({ generationTokensTotal: 2 }), 3, 1);
    expect(state.engineVersion).toBe('');
    expect(decodeAttributes(state.attributesBytes()).engineVersion).toBe('');
  });

  it('says goodbye above its last report', () => {
    const { state } = create();
    state.succeed(reading({}), 1, 1);
    expect(decodeGone(state.goneBytes())).toMatchObject({ epoch: 50_000, seq: 3, port: 8_000 });
  });

  it('never lets (epoch, seq) go back, whatever happens', () => {
    const step = fc.oneof(
      fc.record({ tokens: fc.nat({ max: 50 }), unix: fc.nat({ max: 100_000 }) }),
      fc.constant('fail' as const),
    );
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const { state, clock } = create();
        let [epoch, seq] = [state.epoch, state.seq];
        for (const [i, one] of steps.entries()) {
          if (one === 'fail') state.fail(reason.connect, 'refused');
          else {
            clock.unix = one.unix;
            state.succeed(reading({ generationTokensTotal: one.tokens }), i, 1);
          }
          expect(state.epoch > epoch || (state.epoch === epoch && state.seq > seq)).toBe(true);
          [epoch, seq] = [state.epoch, state.seq];
          readReport(state.reportBytes(i));
        }
      }),
    );
  });
});
