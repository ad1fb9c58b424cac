/**
 * `trtllm-serve` of TensorRT-LLM. The exposition page has a path of its own; `/metrics` is JSON.
 * Dynamo shows the page again with `trtllm:` before each name.
 *
 * Earlier builds write no prefix, so that their names could be anybody's. Those builds make their
 * series with `model_name` and `engine_type` both set to `undefined` (`openai_server.py` of
 * TensorRT-LLM), which no other program is known to do: that tells their pages.
 */
import type { EngineProfile } from './profile.ts';

export const trtllmServe: EngineProfile = {
  name: 'trtllm-serve',
  title: 'TensorRT-LLM serve',
  metricsPath: '/prometheus/metrics',
  prefix: 'trtllm_',
  // tensorrt_llm/serve/openai_server.py: `version`.
  versionPages: [{ path: '/version', field: 'version' }],
  aliases: [
    ['trtllm_', 'trtllm:'],
    ['trtllm_', '', { engine_type: 'undefined' }],
  ],
  modelLabels: ['model_name'],
  signals: [
    {
      metric: 'runningRequests',
      sources: [{ family: 'trtllm_num_requests_running' }],
    },
    {
      metric: 'waitingRequests',
      sources: [{ family: 'trtllm_num_requests_waiting' }],
    },
    { metric: 'kvCacheUsageRatio', sources: [{ family: 'trtllm_kv_cache_utilization' }] },
    {
      metric: 'kvCacheCapacityTokens',
      sources: [
        {
          multiply: [
            { family: 'trtllm_kv_cache_max_blocks' },
            { family: 'trtllm_kv_cache_tokens_per_block' },
          ],
        },
      ],
    },
    { metric: 'kvBlockTokens', sources: [{ family: 'trtllm_kv_cache_tokens_per_block' }] },
    { metric: 'prefixCacheHitRatio', sources: [{ family: 'trtllm_kv_cache_hit_rate' }] },
    { metric: 'promptTokensTotal', sources: [{ family: 'trtllm_prompt_tokens_total' }] },
    { metric: 'generationTokensTotal', sources: [{ family: 'trtllm_generation_tokens_total' }] },
    { metric: 'requestsSuccessTotal', sources: [{ family: 'trtllm_request_success_total' }] },
    { metric: 'ttftSecondsSum', sources: [{ family: 'trtllm_time_to_first_token_seconds_sum' }] },
    { metric: 'ttftCount', sources: [{ family: 'trtllm_time_to_first_token_seconds_count' }] },
  ],
};
