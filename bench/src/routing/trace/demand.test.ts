import { describe, expect, it } from 'vitest';
import { computedTokens, demandOf } from './demand.ts';
import type { TraceRow } from './trace.ts';

const row = (inputTokens: number, runs: number[], outputTokens = 1): TraceRow => ({
  atMs: 0,
  inputTokens,
  outputTokens,
  session: -1,
  runs,
});

describe('computedTokens', () => {
  const rows = [row(640, [0, 10]), row(640, [100, 10]), row(660, [0, 10])];

  it('counts what a cache of that size does not have', () => {
    expect(computedTokens(rows, 64, Number.POSITIVE_INFINITY)).toBe((640 + 640 + 20) / 3);
    expect(computedTokens(rows, 64, 640)).toBe((640 + 640 + 660) / 3);
    // Half of the first prompt is left when it comes again.
    expect(computedTokens(rows, 64, 960)).toBe((640 + 640 + 340) / 3);
  });
});

describe('demandOf', () => {
  const trace = (rows: TraceRow[]) => ({
    name: '',
    source: '',
    license: '',
    blockTokens: 64,
    global: [],
    spanMs: 1_000,
    rows,
  });

  it('is the time that prompts take where nothing is shared', () => {
    const { meanMs } = demandOf(trace([row(2_000, []), row(4_000, [])]), 1_000_000, 0.8);
    // 3,000 tokens at 20,000/s; one token of output adds next to nothing.
    expect(meanMs).toBeGreaterThan(150);
    expect(meanMs).toBeLessThan(151);
  });

  it('is spread over rows so that they add up to the mean', () => {
    const rows = [row(2_000, [0, 10], 500), row(4_000, [0, 20], 10), row(900, [], 90)];
    const { rowMs, meanMs } = demandOf(trace(rows), 400_000, 0.8);
    expect(rows.reduce((sum, each) => sum + rowMs(each), 0) / rows.length).toBeCloseTo(meanMs, 6);
  });

  it('is less where prompts are shared and the cache is large', () => {
    const rows = Array.from({ length: 50 }, (_, i) => row(64_000, [(i % 10) * 5_000, 1_000]));
    const { meanMs: large } = demandOf(trace(rows), 2_000_000, 0.8);
    const { meanMs: none } = demandOf(trace(rows.map((each) => ({ ...each, runs: [] }))), 2e6, 0.8);
    expect(large).toBeLessThan(0.5 * none);
  });
});
