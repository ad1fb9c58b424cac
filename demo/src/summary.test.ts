import { describe, expect, it } from 'vitest';
import { createPaint } from './paint.ts';
import { type DemoResult, summaryText } from './summary.ts';

const result: DemoResult = {
  requests: 40,
  failed: 0,
  nodes: 1,
  pods: 2,
  picks: { '127.0.1.1:1': 28, '127.0.1.2:2': 12 },
  picks_by_strategy: {
    random: { '127.0.1.1:1': 10, '127.0.1.2:2': 10 },
    least_load: { '127.0.1.1:1': 18, '127.0.1.2:2': 2 },
  },
  slowed: { endpoint: '127.0.1.2:2', speed: 0.5 },
  freshness_ms: { p50: 60, p99: 120 },
  scrape_interval_ms: 100,
  ttft_ms: { random: { p50: 80, p99: 2_000 }, least_load: { p50: 60, p99: 200 } },
  picker_scrapes: 0,
  transport: 'nats',
  versions: { envoy: '1.40.0', nats: '2.15.1', node: '26.10.0' },
};

const text = (change: Partial<DemoResult> = {}) =>
  summaryText({ ...result, ...change }, createPaint(false));

describe('the comparison', () => {
  it('states what picking by load is worth, and what the slowed engine got', () => {
    expect(text()).toContain('By load, the 99th percentile is 10.0 × lower.');
    expect(text()).toMatch(/random +10 of 20 requests \(50\.0 %\)/);
    expect(text()).toMatch(/least-load +2 of 20 requests \(10\.0 %\)/);
  });

  it('does not call a loss a gain', () => {
    const ttft_ms = { random: { p50: 1, p99: 100 }, least_load: { p50: 1, p99: 200 } };
    expect(text({ ttft_ms })).toContain('2.0 × higher');
  });

  it('says when the machine was too busy for the figures to mean much', () => {
    expect(text()).not.toContain('too busy');
    expect(text({ freshness_ms: { p50: 300, p99: 1_500 } })).toContain('too busy');
  });

  it('names a run without a broker', () => {
    expect(text({ versions: { ...result.versions, nats: null } })).toContain('no broker');
  });
});
