import { describe, expect, it } from 'vitest';
import { numberOf, readingOf } from '../read.fixture.ts';

describe('SGLang', () => {
  it('is read alike whether names have a colon or an underscore', () => {
    for (const prefix of ['sglang:', 'sglang_']) {
      const reading = readingOf([
        `${prefix}num_queue_reqs{model_name="m"} 6`,
        `${prefix}num_running_reqs{model_name="m"} 2`,
        `${prefix}token_usage{model_name="m"} 0.5`,
      ]);
      expect(reading.engine).toBe('sglang');
      expect(numberOf(reading, 'waitingRequests')).toBe(6);
      expect(numberOf(reading, 'runningRequests')).toBe(2);
      expect(numberOf(reading, 'kvCacheUsageRatio')).toBe(0.5);
    }
  });

  it('counts each request once on a page that a router shows in both spellings', () => {
    const reading = readingOf([
      'sglang:num_queue_reqs{model_name="m"} 6',
      'sglang_num_queue_reqs{model_name="m",worker="w"} 6',
    ]);
    expect(numberOf(reading, 'waitingRequests')).toBe(6);
  });

  it('is read in its first spelling', () => {
    const reading = readingOf([
      'sglang:num_requests_running{name="m"} 3',
      'sglang:num_requests_waiting{name="m"} 4',
      'sglang:max_total_num_tokens{name="m"} 161721',
    ]);
    expect(reading.models).toEqual(['m']);
    expect(numberOf(reading, 'runningRequests')).toBe(3);
    expect(numberOf(reading, 'waitingRequests')).toBe(4);
    expect(numberOf(reading, 'kvCacheCapacityTokens')).toBe(161_721);
  });

  it('takes the largest of replica ranks within a data-parallel rank, and adds those', () => {
    const series = (dp: number, tp: number, pp: number, value: number) =>
      `sglang:num_running_reqs{dp_rank="${dp}",moe_ep_rank="${tp}",pp_rank="${pp}",tp_rank="${tp}"} ${value}`;
    const reading = readingOf([
      series(0, 0, 0, 5),
      series(0, 1, 0, 5),
      series(0, 0, 1, 4),
      series(1, 0, 0, 2),
      series(1, 1, 0, 3),
    ]);
    expect(numberOf(reading, 'runningRequests')).toBe(8);
    expect(reading.engineRanks).toBe(2);
    expect(reading.ranks.map((rank) => rank.runningRequests)).toEqual([5, 3]);
  });

  it('takes the total of priority scheduling and leaves out its parts', () => {
    const reading = readingOf([
      'sglang:num_queue_reqs{model_name="m",priority=""} 7',
      'sglang:num_queue_reqs{model_name="m",priority="1"} 3',
      'sglang:num_queue_reqs{model_name="m",priority="2"} 4',
    ]);
    expect(numberOf(reading, 'waitingRequests')).toBe(7);
  });

  it('adds up counters over their other labels', () => {
    const reading = readingOf([
      'sglang:generation_tokens_total{is_streaming="true",model_name="m"} 30',
      'sglang:generation_tokens_total{is_streaming="false",model_name="m"} 12',
      'sglang:page_size{model_name="m"} 64',
      'sglang:num_pages{model_name="m"} 100',
    ]);
    expect(numberOf(reading, 'generationTokensTotal')).toBe(42);
    expect(numberOf(reading, 'kvBlockTokens')).toBe(64);
    expect(numberOf(reading, 'kvCacheCapacityTokens')).toBe(6_400);
  });

  it('does not take the percent of early releases for a ratio', () => {
    expect(numberOf(readingOf(['sglang:cache_hit_rate 10.61']), 'prefixCacheHitRatio')).toBeNaN();
    expect(numberOf(readingOf(['sglang:cache_hit_rate 0.61']), 'prefixCacheHitRatio')).toBe(0.61);
  });
});
