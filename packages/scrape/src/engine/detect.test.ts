import { describe, expect, it } from 'vitest';
import { PageReader } from '../page-reader.ts';
import { parseCustomMapping } from './custom.ts';

const reader = new PageReader();

function page(...lines: string[]): Buffer {
  return Buffer.from(`${lines.join('\n')}\n`);
}

describe('finding the engine of a page', () => {
  it('takes no page for an engine that has only names anybody may use', () => {
    const generic = page(
      'prompt_tokens_total 5',
      'generation_tokens_total{model_name="m"} 7',
      'num_requests_running{engine_type="worker",model_name="m"} 2',
      'kv_cache_utilization 0.5',
      'time_to_first_token_seconds_count 1',
    );
    expect(reader.detect(generic)).toBeUndefined();
  });

  it('knows an old trtllm-serve, which writes no prefix, by the labels that it left undefined', () => {
    const labels = '{engine_type="undefined",finished_reason="length",model_name="undefined"}';
    expect(reader.detect(page('other_total 1', `request_success_total${labels} 4`))).toBe(
      'trtllm-serve',
    );
  });

  it('knows each engine by one name of its own', () => {
    const names = {
      vllm: 'vllm:num_requests_running',
      sglang: 'sglang_num_queue_reqs',
      'trtllm-serve': 'trtllm:kv_cache_utilization',
      'triton-trtllm': 'nv_trt_llm_request_metrics{request_type="waiting"}',
      tgi: 'tgi_queue_size',
      llamacpp: 'llamacpp:requests_deferred',
      lmdeploy: 'lmdeploy:num_requests_waiting',
    };
    expect(Object.keys(names)).toEqual(reader.engineNames);
    for (const [engine, name] of Object.entries(names)) {
      expect(reader.detect(page('prompt_tokens_total 5', `${name} 1`))).toBe(engine);
    }
  });

  it('takes what a custom mapping names as meant, also where an engine has the name, too', () => {
    const mapping = parseCustomMapping(
      'engine: house\nmetrics: { runningRequests: vllm:num_requests_running }\n',
    );
    const custom = new PageReader([mapping]);
    expect(custom.detect(page('vllm:num_requests_running 1'))).toBe('house');
    expect(custom.detect(page('vllm:num_requests_waiting 1'))).toBe('vllm');
  });

  it('names the engines that a page comes close to, and what naming one would read', () => {
    const near = reader.near(
      page('prompt_tokens_total 5', 'proxy_vllm_num_requests_running 1', 'python_info 1'),
    );
    expect(near[0]).toEqual({
      engine: 'trtllm-serve',
      title: 'TensorRT-LLM serve',
      families: ['prompt_tokens_total', 'proxy_vllm_num_requests_running'],
      readable: 1,
    });
    expect(near.find(({ engine }) => engine === 'vllm')?.readable).toBe(0);
    const declared = reader.near(page('# TYPE vllm:time_to_first_token_seconds histogram'));
    expect(declared.find(({ engine }) => engine === 'vllm')?.families).toEqual([
      'vllm:time_to_first_token_seconds',
    ]);
    expect(reader.near(page('python_info 1', '__ 1', 'a_ 1', ':::: 2'))).toEqual([]);
    expect(reader.near(new Uint8Array([0, 255, 10, 7]))).toEqual([]);
  });
});
