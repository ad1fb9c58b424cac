import { describe, expect, it } from 'vitest';
import { numberOf, readingOf } from '../read.fixture.ts';

describe('vLLM', () => {
  it('is read in the spelling of V0', () => {
    const reading = readingOf([
      'vllm:num_requests_running{model_name="m"} 3.0',
      'vllm:num_requests_waiting{model_name="m"} 2.0',
      'vllm:num_requests_swapped{model_name="m"} 1.0',
      'vllm:gpu_cache_usage_perc{model_name="m"} 0.25',
      'vllm:gpu_prefix_cache_hit_rate{model_name="m"} 0.5',
      'vllm:num_preemptions_total{model_name="m"} 4.0',
      'vllm:cache_config_info{block_size="16",num_gpu_blocks="100"} 1.0',
    ]);
    expect(reading.engine).toBe('vllm');
    expect(reading.models).toEqual(['m']);
    expect(numberOf(reading, 'runningRequests')).toBe(3);
    expect(numberOf(reading, 'waitingRequests')).toBe(2);
    expect(numberOf(reading, 'swappedRequests')).toBe(1);
    expect(numberOf(reading, 'kvCacheUsageRatio')).toBe(0.25);
    expect(numberOf(reading, 'prefixCacheHitRatio')).toBe(0.5);
    expect(numberOf(reading, 'preemptionsTotal')).toBe(4);
    expect(numberOf(reading, 'kvCacheCapacityTokens')).toBe(1_600);
    expect(numberOf(reading, 'kvBlockTokens')).toBe(16);
  });

  it('takes the new name of the KV gauge, alone or beside the old one, and never adds them', () => {
    const fresh = 'vllm:kv_cache_usage_perc{engine="0"} 0.91';
    const old = 'vllm:gpu_cache_usage_perc{engine="0"} 0.10';
    for (const lines of [[fresh], [fresh, old], [old, fresh]]) {
      const reading = readingOf(lines);
      expect(numberOf(reading, 'kvCacheUsageRatio')).toBe(0.91);
      expect(numberOf(reading, 'kvCacheUsageMaxRatio')).toBe(0.91);
    }
    const neither = readingOf(['vllm:num_requests_running{engine="0"} 1']);
    expect(numberOf(neither, 'kvCacheUsageRatio')).toBeNaN();
  });

  it('reads both spellings of the prefix counters and of the per-token histogram', () => {
    const old = readingOf([
      'vllm:gpu_prefix_cache_queries_total 100',
      'vllm:gpu_prefix_cache_hits_total 40',
      'vllm:time_per_output_token_seconds_sum 2.5',
      'vllm:time_per_output_token_seconds_count 50',
    ]);
    expect(numberOf(old, 'prefixCacheQueriesTotal')).toBe(100);
    expect(numberOf(old, 'prefixCacheHitsTotal')).toBe(40);
    expect(numberOf(old, 'interTokenSecondsSum')).toBe(2.5);
    const both = readingOf([
      'vllm:gpu_prefix_cache_hits_total 40',
      'vllm:prefix_cache_hits_total 640',
      'vllm:inter_token_latency_seconds_count 51',
      'vllm:time_per_output_token_seconds_count 50',
    ]);
    expect(numberOf(both, 'prefixCacheHitsTotal')).toBe(640);
    expect(numberOf(both, 'interTokenCount')).toBe(51);
  });

  it('adds up data-parallel ranks whatever their order, and keeps their own numbers', () => {
    const lines = [
      'vllm:num_requests_waiting{engine="0",model_name="m"} 9',
      'vllm:num_requests_running{engine="0",model_name="m"} 4',
      'vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.95',
      'vllm:num_requests_waiting{engine="1",model_name="m"} 0',
      'vllm:num_requests_running{engine="1",model_name="m"} 0',
      'vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.02',
    ];
    for (const page of [lines, lines.toReversed()]) {
      const reading = readingOf(page);
      expect(numberOf(reading, 'waitingRequests')).toBe(9);
      expect(numberOf(reading, 'runningRequests')).toBe(4);
      expect(numberOf(reading, 'kvCacheUsageMaxRatio')).toBe(0.95);
      expect(numberOf(reading, 'kvCacheUsageRatio')).toBeCloseTo(0.485, 10);
      expect(reading.engineRanks).toBe(2);
      expect(reading.ranks.toSorted((a, b) => a.rank - b.rank)).toEqual([
        { rank: 0, runningRequests: 4, waitingRequests: 9, kvCacheUsageRatio: 0.95 },
        { rank: 1, runningRequests: 0, waitingRequests: 0, kvCacheUsageRatio: 0.02 },
      ]);
    }
  });

  it('weighs the KV usage of ranks by their capacity', () => {
    const reading = readingOf([
      'vllm:kv_cache_usage_perc{engine="0"} 1',
      'vllm:kv_cache_usage_perc{engine="1"} 0',
      'vllm:cache_config_info{engine="0",block_size="16",num_gpu_blocks="300"} 1',
      'vllm:cache_config_info{engine="1",block_size="16",num_gpu_blocks="100"} 1',
    ]);
    expect(numberOf(reading, 'kvCacheUsageRatio')).toBe(0.75);
    expect(numberOf(reading, 'kvCacheCapacityTokens')).toBe(6_400);
  });

  it('says that the capacity is unknown when the page says None, without counting a fault', () => {
    const reading = readingOf([
      'vllm:kv_cache_usage_perc 0.5',
      'vllm:cache_config_info{block_size="16",num_gpu_blocks="None"} 1',
    ]);
    expect(numberOf(reading, 'kvCacheCapacityTokens')).toBeNaN();
    expect(numberOf(reading, 'kvBlockTokens')).toBe(16);
    expect(numberOf(reading, 'kvCacheUsageRatio')).toBe(0.5);
    expect(reading.invalidSamples).toBe(0);
  });

  it('takes the largest where processes of a multiprocess server left zeros', () => {
    const reading = readingOf([
      'vllm:kv_cache_usage_perc{engine="0",pid="11"} 0.0',
      'vllm:kv_cache_usage_perc{engine="1",pid="11"} 0.0',
      'vllm:kv_cache_usage_perc{engine="0",pid="12"} 0.4',
      'vllm:kv_cache_usage_perc{engine="1",pid="12"} 0.8',
    ]);
    expect(numberOf(reading, 'kvCacheUsageMaxRatio')).toBe(0.8);
    expect(numberOf(reading, 'kvCacheUsageRatio')).toBeCloseTo(0.6, 10);
    expect(reading.engineRanks).toBe(2);
  });

  it('adds up the reasons for which requests finished', () => {
    const reading = readingOf([
      'vllm:request_success_total{engine="0",finished_reason="stop"} 5',
      'vllm:request_success_total{engine="0",finished_reason="length"} 2',
      'vllm:request_success_total{engine="1",finished_reason="stop"} 1',
    ]);
    expect(numberOf(reading, 'requestsSuccessTotal')).toBe(8);
  });

  it('tells requests that wait for capacity from deferred ones', () => {
    const reading = readingOf([
      'vllm:num_requests_waiting 7',
      'vllm:num_requests_waiting_by_reason{reason="capacity"} 5',
      'vllm:num_requests_waiting_by_reason{reason="deferred"} 2',
    ]);
    expect(numberOf(reading, 'waitingRequests')).toBe(7);
    expect(numberOf(reading, 'waitingCapacityRequests')).toBe(5);
    expect(numberOf(reading, 'waitingDeferredRequests')).toBe(2);
  });

  it('sleeps only if every rank sleeps', () => {
    const state = (engine: number, awake: number) => [
      `vllm:num_requests_running{engine="${engine}"} 0`,
      `vllm:engine_sleep_state{engine="${engine}",sleep_state="awake"} ${awake}`,
      `vllm:engine_sleep_state{engine="${engine}",sleep_state="weights_offloaded"} ${1 - awake}`,
      `vllm:engine_sleep_state{engine="${engine}",sleep_state="discard_all"} 0`,
    ];
    expect(readingOf([...state(0, 0), ...state(1, 0)]).sleeping).toBe(true);
    expect(readingOf([...state(0, 0), ...state(1, 1)]).sleeping).toBe(false);
    const oneSilent = [...state(0, 0), 'vllm:num_requests_running{engine="1"} 0'];
    expect(readingOf(oneSilent).sleeping).toBe(false);
    expect(readingOf(['vllm:num_requests_running 0']).sleeping).toBe(false);
  });
});
