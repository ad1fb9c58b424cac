import { describe, expect, it } from 'vitest';
import type { EndpointRow } from './fleet-watch.ts';
import { bar, createPaint } from './paint.ts';
import { renderTable, type TableState } from './table.ts';

function row(change: Partial<EndpointRow>): EndpointRow {
  return {
    endpoint: '127.0.1.1:40001',
    podName: 'engine-0',
    nodeName: 'node-0',
    state: 'fresh',
    ageMs: 40,
    running: 3,
    waiting: 0,
    kvCacheUsageRatio: 0.5,
    picks: 10,
    ...change,
  };
}

function render(rows: EndpointRow[], change: Partial<TableState> = {}): string {
  const state: TableState = {
    title: 'title',
    phase: 'Phase 1 of 2',
    strategy: 'random',
    progress: 0.5,
    rows,
    slowed: '127.0.1.2:40002',
    slowedSpeed: 0.4,
    sent: 5,
    done: 4,
    failed: 0,
    firstTokenMs: { p50: 80, p99: Number.NaN },
    freshnessMs: { p50: 50, p99: 100 },
    ...change,
  };
  return renderTable(state, createPaint(false)).join('\n');
}

describe('the table', () => {
  it('shows load, age and picks of each endpoint and marks the slowed one', () => {
    const text = render([row({}), row({ endpoint: '127.0.1.2:40002', waiting: 7, picks: 2 })]);
    const [first, second] = text.split('\n').filter((line) => line.includes('127.0.1.'));
    expect(first).toMatch(/^node-0 +127\.0\.1\.1:40001 +3 +0 +█████ +50% +40 ms +10 █+$/);
    expect(second).toContain('slow ×0.4');
    expect(second).toMatch(/ 7 █/);
  });

  it('tells unknown from zero, and stale from fresh', () => {
    const unknown = { ageMs: null, running: null, waiting: null, kvCacheUsageRatio: null };
    expect(render([row({ ...unknown, state: 'unknown' })])).toMatch(/– +– .* no report/);
    expect(render([row({ ageMs: 2_500, state: 'stale' })])).toContain('stale 2500 ms');
  });

  it('is never wider than 100 columns', () => {
    const wide = row({
      endpoint: '127.0.1.2:40002',
      state: 'stale',
      ageMs: 12_345,
      running: 256,
      waiting: 999,
      kvCacheUsageRatio: 1,
      picks: 99_999,
    });
    for (const line of render([wide]).split('\n')) expect(line.length).toBeLessThanOrEqual(100);
  });
});

describe('bar', () => {
  it.each([
    [0, '    '],
    [0.5, '██  '],
    [1, '████'],
    [0.28, '█▏  '],
    [7, '████'],
    [-1, '    '],
  ])('draws %d', (ratio, text) => {
    expect(bar(ratio, 4)).toBe(text);
  });
});
