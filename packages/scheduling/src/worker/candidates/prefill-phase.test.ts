import { describe, expect, it } from 'vitest';
import { createRig, endpointsOf } from '../../fixture/scheduler-rig.ts';
import { InFlightField } from '../../shared/in-flight-table.ts';
import { PrefillDeadlines, PrefillRate } from './prefill-phase.ts';

describe('the deadlines of prefill phases', () => {
  it('come in the order of their times, whatever the order of the requests', () => {
    const deadlines = new PrefillDeadlines();
    const tokens = Array.from({ length: 200 }, (_, i) => (i * 73) % 199);
    for (const [ticket, count] of tokens.entries()) deadlines.add(ticket, 1_000, count, 1);
    const taken: number[] = [];
    for (let nowMs = 1_000; nowMs < 1_200; nowMs++) {
      for (let ticket = deadlines.take(nowMs); ticket >= 0; ticket = deadlines.take(nowMs)) {
        expect(tokens[ticket]).toBe(nowMs - 1_000);
        taken.push(ticket);
      }
    }
    expect(taken.toSorted((a, b) => a - b)).toEqual(tokens.map((_, ticket) => ticket));
    expect(deadlines.waiting).toBe(0);
  });

  it('are learned from streams, but not from short prompts or a clock that went back', () => {
    const rate = new PrefillRate();
    const before = rate.msPerToken;
    rate.learn(10, 5_000);
    rate.learn(1_000, Number.NaN);
    expect(rate.msPerToken).toBe(before);
    for (let i = 0; i < 500; i++) rate.learn(2_000, 1_000);
    expect(rate.msPerToken).toBeCloseTo(0.5);
  });
});

describe('a prompt whose answer comes whole', () => {
  const prompt = { promptTokens: 20_000, nowMs: 0 };

  async function rigWith(streaming: boolean) {
    const rig = await createRig({
      config: 'default: { strategy: least-request }',
      endpoints: endpointsOf(1),
    });
    const { ticket } = rig.pick({ ...prompt, streaming });
    return { rig, ticket, of: (field: InFlightField) => rig.inFlight.total(0, field) };
  }

  it('stops to count as prefill by an estimate and decodes until its end', async () => {
    const { rig, ticket, of } = await rigWith(false);
    rig.scheduler.tick(10);
    expect(of(InFlightField.pendingTokens)).toBe(20_000);
    rig.scheduler.tick(60_000);
    expect(of(InFlightField.pendingTokens)).toBe(0);
    expect(of(InFlightField.decoding)).toBe(1);
    rig.scheduler.firstToken(ticket);
    rig.scheduler.release(ticket, { outputTokens: 9, aborted: false });
    expect(of(InFlightField.decoding)).toBe(0);
    expect(of(InFlightField.requests)).toBe(0);
  });

  it('waits for the prompts before it, at the pace that streams have shown', async () => {
    const { rig, of } = await rigWith(true);
    rig.scheduler.tick(2_000);
    rig.scheduler.firstToken(0);
    // 20,000 tokens took 2 s: as many again, behind as many of a stream, take 4 s.
    rig.pick({ ...prompt, nowMs: 2_000, streaming: true });
    rig.pick({ ...prompt, nowMs: 2_000, streaming: false });
    rig.scheduler.tick(5_900);
    expect(of(InFlightField.pendingTokens)).toBe(40_000);
    rig.scheduler.tick(6_100);
    expect(of(InFlightField.pendingTokens)).toBe(20_000);
  });

  it('is not estimated where it streams: its first token will be seen', async () => {
    const { rig, of } = await rigWith(true);
    rig.scheduler.tick(600_000);
    expect(of(InFlightField.pendingTokens)).toBe(20_000);
  });
});

it('a call that computes nothing is picked for, neither charged nor remembered', async () => {
  const rig = await createRig({
    config: 'default: { strategy: expected-work }',
    endpoints: endpointsOf(2),
  });
  const prompt = new TextEncoder().encode('Count me, do not compute me. '.repeat(200));
  const pick = rig.pick({ prompt, promptTokens: 1_450, computes: false });
  expect(pick.status).toBe('picked');
  for (const endpoint of [0, 1]) {
    for (const field of Object.values(InFlightField)) {
      expect(rig.inFlight.total(endpoint, field)).toBe(0);
    }
  }
  rig.pick({ prompt, promptTokens: 1_450 });
  const pending = [0, 1].map((index) => rig.inFlight.total(index, InFlightField.pendingTokens));
  expect(Math.max(...pending)).toBe(1_450);
});
