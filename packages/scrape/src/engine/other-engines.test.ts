import { metric } from '@leadsman/wire';
import { describe, expect, it } from 'vitest';
import { numberOf, readingOf } from '../read.fixture.ts';
import { finding } from './reading.ts';

describe('TensorRT-LLM serve', () => {
  it('is read with its prefix, with the prefix of a wrapper, and without one', () => {
    for (const prefix of ['trtllm_', 'trtllm:', '']) {
      const labels = '{model_name="undefined",engine_type="undefined"}';
      const reading = readingOf([
        `${prefix}num_requests_running${labels} 3`,
        `${prefix}num_requests_waiting${labels} 1`,
        `${prefix}kv_cache_utilization${labels} 0.4`,
        `${prefix}kv_cache_hit_rate${labels} 0.3`,
        `${prefix}kv_cache_tokens_per_block${labels} 32`,
        `${prefix}kv_cache_max_blocks${labels} 10`,
      ]);
      expect(reading.engine).toBe('trtllm-serve');
      expect(numberOf(reading, 'runningRequests')).toBe(3);
      expect(numberOf(reading, 'waitingRequests')).toBe(1);
      expect(numberOf(reading, 'kvCacheUsageRatio')).toBe(0.4);
      expect(numberOf(reading, 'prefixCacheHitRatio')).toBe(0.3);
      expect(numberOf(reading, 'kvCacheCapacityTokens')).toBe(320);
    }
  });
});

describe('Triton with TensorRT-LLM', () => {
  const requests = (type: string, value: number, model = 'tensorrt_llm') =>
    `nv_trt_llm_request_metrics{model="${model}",request_type="${type}",version="1"} ${value}`;
  const blocks = (type: string, value: number) =>
    `nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="${type}",model="a",version="1"} ${value}`;

  it('is read by the labels that tell the numbers of a family apart', () => {
    const reading = readingOf([
      requests('waiting', 4),
      requests('context', 1),
      requests('scheduled', 6),
      requests('max', 512),
      requests('active', 9),
      blocks('fraction', 0.25),
      blocks('tokens_per', 64),
      blocks('used', 25),
      blocks('free', 75),
      blocks('max', 100),
      'nv_trt_llm_general_metrics{general_type="iteration_counter",model="a",version="1"} 77',
      'nv_trt_llm_general_metrics{general_type="timestamp",model="a",version="1"} 1700074049',
    ]);
    expect(reading.engine).toBe('triton-trtllm');
    expect(numberOf(reading, 'waitingRequests')).toBe(4);
    expect(numberOf(reading, 'runningRequests')).toBe(6);
    expect(numberOf(reading, 'kvCacheUsageRatio')).toBe(0.25);
    expect(numberOf(reading, 'kvCacheCapacityTokens')).toBe(6_400);
    expect(reading.progress).toEqual([77]);
  });

  it('adds up the queues of its models, and divides when it states no fraction', () => {
    const reading = readingOf([
      requests('waiting', 4, 'a'),
      requests('waiting', 2, 'b'),
      blocks('used', 25),
      blocks('max', 100),
    ]);
    expect(numberOf(reading, 'waitingRequests')).toBe(6);
    expect(numberOf(reading, 'kvCacheUsageRatio')).toBe(0.25);
    expect(reading.models).toEqual(['a', 'b']);
  });
});

describe('Text Generation Inference', () => {
  it('is read without labels and without _total, its KV usage as a quotient', () => {
    const reading = readingOf([
      'tgi_request_success 109',
      '',
      '# TYPE tgi_queue_size gauge',
      'tgi_queue_size 3',
      'tgi_batch_current_size 5',
      'tgi_batch_current_max_tokens 300',
      'tgi_batch_max_total_tokens 1200',
      'tgi_request_generated_tokens_sum 4000',
      'tgi_request_generated_tokens_bucket{le="+Inf"} 9',
      'tgi_batch_inference_count{method="decode"} 1509',
      'tgi_batch_inference_count{method="prefill"} 16',
    ]);
    expect(reading.engine).toBe('tgi');
    expect(numberOf(reading, 'waitingRequests')).toBe(3);
    expect(numberOf(reading, 'runningRequests')).toBe(5);
    expect(numberOf(reading, 'kvCacheUsageRatio')).toBe(0.25);
    expect(numberOf(reading, 'kvCacheCapacityTokens')).toBe(1_200);
    expect(numberOf(reading, 'requestsSuccessTotal')).toBe(109);
    expect(numberOf(reading, 'generationTokensTotal')).toBe(4_000);
    expect(reading.progress).toEqual([1_525]);
    expect(reading.models).toEqual([]);
  });

  it('knows no KV usage when the divisor is missing or 0', () => {
    const one = 'tgi_batch_current_max_tokens 300';
    expect(numberOf(readingOf([one]), 'kvCacheUsageRatio')).toBeNaN();
    const zero = [one, 'tgi_batch_max_total_tokens 0'];
    expect(numberOf(readingOf(zero), 'kvCacheUsageRatio')).toBeNaN();
  });
});

describe('llama.cpp', () => {
  it('is read without labels; newer builds state no KV usage', () => {
    const lines = [
      'llamacpp:prompt_tokens_total 100',
      'llamacpp:tokens_predicted_total 50',
      'llamacpp:prompt_tokens_seconds -nan',
      'llamacpp:requests_processing 2',
      'llamacpp:requests_deferred 1',
      'llamacpp:n_decode_total 60',
    ];
    const newer = readingOf(lines);
    expect(newer.engine).toBe('llamacpp');
    expect(numberOf(newer, 'runningRequests')).toBe(2);
    expect(numberOf(newer, 'waitingRequests')).toBe(1);
    expect(numberOf(newer, 'kvCacheUsageRatio')).toBeNaN();
    expect(newer.invalidSamples).toBe(0);
    expect(newer.progress[0]).toBe(60);
    const older = readingOf([...lines, 'llamacpp:kv_cache_usage_ratio 0.7']);
    expect(numberOf(older, 'kvCacheUsageRatio')).toBe(0.7);
  });
});

describe('LMDeploy', () => {
  it('is read like vLLM, under its own names', () => {
    const reading = readingOf([
      'lmdeploy:num_requests_running{engine="3",model_name="m"} 2',
      'lmdeploy:num_requests_waiting{engine="3",model_name="m"} 8',
      'lmdeploy:gpu_cache_usage_perc{engine="3",model_name="m"} 0.6',
      'lmdeploy:iter_token_latency_count{engine="3",model_name="m"} 9',
    ]);
    expect(reading.engine).toBe('lmdeploy');
    expect(reading.models).toEqual(['m']);
    expect(numberOf(reading, 'runningRequests')).toBe(2);
    expect(numberOf(reading, 'waitingRequests')).toBe(8);
    expect(numberOf(reading, 'kvCacheUsageRatio')).toBe(0.6);
    expect(numberOf(reading, 'interTokenCount')).toBe(9);
    expect(reading.ranks[0]?.rank).toBe(3);
  });

  it('waits at the API server and in the scheduler: both count', () => {
    const running = 'lmdeploy:num_requests_running{engine="0",model_name="m"} 2';
    const scheduler = 'lmdeploy:num_requests_waiting{engine="0",model_name="m"} 3';
    const handles = 'lmdeploy:num_api_requests_waiting{engine="0",model_name="m"}';
    const reading = readingOf([running, scheduler, `${handles} 40`]);
    expect(numberOf(reading, 'waitingRequests')).toBe(43);
    expect(reading.ranks[0]?.waitingRequests).toBe(43);
    expect(reading.families[metric.waitingRequests]).toBe(
      'lmdeploy:num_requests_waiting + lmdeploy:num_api_requests_waiting',
    );
    // Older releases have no gauge for the handles.
    expect(numberOf(readingOf([running, scheduler]), 'waitingRequests')).toBe(3);
    const other = [running, scheduler, `${handles} 40`].map((line) =>
      line.replace('lmdeploy:', 'lmdeploy_'),
    );
    expect(numberOf(readingOf(other), 'waitingRequests')).toBe(43);
  });

  it('has an unknown queue when either part is unusable, rather than a short one', () => {
    const lines = (scheduler: string, handles: string) => [
      'lmdeploy:num_requests_running{engine="0"} 2',
      `lmdeploy:num_requests_waiting{engine="0"} ${scheduler}`,
      `lmdeploy:num_api_requests_waiting{engine="0"} ${handles}`,
    ];
    for (const reading of [readingOf(lines('3', '-1')), readingOf(lines('NaN', '3'))]) {
      expect(numberOf(reading, 'waitingRequests')).toBeNaN();
      expect(reading.findings[metric.waitingRequests]).toBe(finding.invalid);
    }
  });
});
