import { reason } from '@leadsman/wire';
import { describe, expect, it } from 'vitest';
import { PageReader } from '../page-reader.ts';
import { numberOf, readingOf } from '../read.fixture.ts';

function outcomeOf(page: string | Uint8Array, engine = 'vllm') {
  const outcome = new PageReader().read(Buffer.from(page as string), engine);
  return 'reading' in outcome ? undefined : outcome.reason;
}

describe('what is unknown', () => {
  it('is unknown and counted, never 0: NaN, negative usage, the largest integer', () => {
    const reading = readingOf([
      'vllm:num_requests_waiting NaN',
      'vllm:kv_cache_usage_perc -0.2',
      'vllm:num_requests_running 9.223372036854775794e18',
      'vllm:time_to_first_token_seconds_bucket{le="+Inf"} 3',
      'vllm:time_to_first_token_seconds_count 3',
    ]);
    expect(numberOf(reading, 'waitingRequests')).toBeNaN();
    expect(numberOf(reading, 'kvCacheUsageRatio')).toBeNaN();
    expect(numberOf(reading, 'runningRequests')).toBeNaN();
    expect(reading.invalidSamples).toBe(3);
    expect(numberOf(reading, 'ttftCount')).toBe(3);
  });

  it.each([
    ['vllm:gpu_prefix_cache_hit_rate -1', 'prefixCacheHitRatio'],
    ['vllm:num_requests_running 4294967295', 'runningRequests'],
    ['vllm:num_requests_running +Inf', 'runningRequests'],
    ['vllm:kv_cache_usage_perc 85', 'kvCacheUsageRatio'],
    ['vllm:generation_tokens_total -5', 'generationTokensTotal'],
  ] as const)('is %s', (line, name) => {
    const reading = readingOf([line]);
    expect(numberOf(reading, name)).toBeNaN();
    expect(reading.invalidSamples).toBe(1);
  });

  it('is a total of which one rank is unknown, while the others keep their numbers', () => {
    const reading = readingOf([
      'vllm:num_requests_running{engine="0"} 5',
      'vllm:num_requests_running{engine="1"} NaN',
    ]);
    expect(numberOf(reading, 'runningRequests')).toBeNaN();
    expect(reading.ranks[0]?.runningRequests).toBe(5);
    expect(reading.ranks[1]?.runningRequests).toBeNaN();
  });

  it('is a total of which a rank has no series that has others', () => {
    const reading = readingOf([
      'vllm:num_requests_running{engine="0"} 5',
      'vllm:num_requests_running{engine="1"} 2',
      'vllm:num_requests_waiting{engine="0"} 9',
      'vllm:kv_cache_usage_perc 0.5',
    ]);
    expect(numberOf(reading, 'runningRequests')).toBe(7);
    expect(numberOf(reading, 'waitingRequests')).toBeNaN();
    expect(reading.ranks[0]?.waitingRequests).toBe(9);
    // What has no rank speaks for the whole engine.
    expect(numberOf(reading, 'kvCacheUsageRatio')).toBe(0.5);
  });

  it('is a family with HELP and TYPE but no sample', () => {
    const reading = readingOf([
      '# HELP vllm:num_requests_waiting Waiting.',
      '# TYPE vllm:num_requests_waiting gauge',
      '# TYPE vllm:num_requests_running gauge',
      'vllm:num_requests_running 1',
    ]);
    expect(numberOf(reading, 'waitingRequests')).toBeNaN();
    expect(numberOf(reading, 'runningRequests')).toBe(1);
  });

  it('falls back to the old name when the new one has no usable number', () => {
    const reading = readingOf(['vllm:kv_cache_usage_perc NaN', 'vllm:gpu_cache_usage_perc 0.3']);
    expect(numberOf(reading, 'kvCacheUsageRatio')).toBe(0.3);
  });

  it('takes a ratio a rounding above 1 as 1', () => {
    expect(numberOf(readingOf(['vllm:kv_cache_usage_perc 1.0000001']), 'kvCacheUsageRatio')).toBe(
      1,
    );
  });

  // A page of another program.
  it('is a page without any series of the engine: no_series', () => {
    expect(outcomeOf('python_gc_objects_collected_total{generation="0"} 1\n')).toBe(
      reason.noSeries,
    );
    expect(outcomeOf('')).toBe(reason.noSeries);
    expect(outcomeOf('\n\n')).toBe(reason.noSeries);
    expect(outcomeOf('# HELP up Up.\n')).toBe(reason.noSeries);
    expect(outcomeOf('vllm:num_requests_running 1\n', 'tgi')).toBe(reason.noSeries);
  });

  it('is a page that is no exposition text: parse', () => {
    for (const page of [
      '<!doctype html><html><body>Sign in</body></html>',
      '{"num_requests_running": 3}',
      'Internal Server Error',
      '[1, 2, 3]\n',
    ]) {
      expect(outcomeOf(page)).toBe(reason.parse);
    }
    expect(outcomeOf(new Uint8Array([0, 255, 254, 1, 10, 7]))).toBe(reason.parse);
  });
});
