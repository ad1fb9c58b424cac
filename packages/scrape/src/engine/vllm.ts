/**
 * vLLM, V0 and V1. V1 adds the `engine` label (the data-parallel rank). Names that changed:
 * KV usage and prefix counters in 0.9.2, the per-token histogram about 0.10.2; pages in between
 * have both, so the newer stands first.
 */
import type { EngineProfile } from './profile.ts';

const cacheConfig = 'vllm:cache_config_info';

export const vllm: EngineProfile = {
  name: 'vllm',
  title: 'vLLM',
  metricsPath: '/metrics',
  prefix: 'vllm:',
  // `show_version` of vLLM's API server.
  versionPages: [{ path: '/version', field: 'version' }],
  aliases: [['vllm:', 'vllm_']],
  rankLabel: 'engine',
  // Some multiprocess releases add the process to the KV gauge and leave zeros of the others.
  replicaLabels: ['pid'],
  modelLabels: ['model_name'],
  signals: [
    { metric: 'runningRequests', sources: [{ family: 'vllm:num_requests_running' }] },
    { metric: 'waitingRequests', sources: [{ family: 'vllm:num_requests_waiting' }] },
    {
      metric: 'waitingCapacityRequests',
      sources: [{ family: 'vllm:num_requests_waiting_by_reason', where: { reason: 'capacity' } }],
    },
    {
      metric: 'waitingDeferredRequests',
      sources: [{ family: 'vllm:num_requests_waiting_by_reason', where: { reason: 'deferred' } }],
    },
    { metric: 'swappedRequests', sources: [{ family: 'vllm:num_requests_swapped' }] },
    {
      metric: 'kvCacheUsageRatio',
      sources: [{ family: 'vllm:kv_cache_usage_perc' }, { family: 'vllm:gpu_cache_usage_perc' }],
    },
    {
      metric: 'kvCacheCapacityTokens',
      // Newer releases state the tokens, which blocks × size are not for hybrid models. The front
      // end adds up the ranks' blocks and shows the sum with each rank (`num_gpu_blocks`).
      sources: [
        { family: cacheConfig, label: 'kv_cache_size_tokens' },
        {
          multiply: [
            { family: cacheConfig, label: 'num_gpu_blocks' },
            { family: cacheConfig, label: 'block_size' },
          ],
          eachStatesTotal: true,
        },
      ],
    },
    {
      metric: 'kvCapacityTokens',
      sources: [{ family: cacheConfig, label: 'kv_cache_size_tokens' }],
    },
    { metric: 'kvBlockTokens', sources: [{ family: cacheConfig, label: 'block_size' }] },
    {
      metric: 'prefixCacheHitsTotal',
      sources: [
        { family: 'vllm:prefix_cache_hits_total' },
        { family: 'vllm:gpu_prefix_cache_hits_total' },
      ],
    },
    {
      metric: 'prefixCacheQueriesTotal',
      sources: [
        { family: 'vllm:prefix_cache_queries_total' },
        { family: 'vllm:gpu_prefix_cache_queries_total' },
      ],
    },
    { metric: 'prefixCacheHitRatio', sources: [{ family: 'vllm:gpu_prefix_cache_hit_rate' }] },
    { metric: 'promptTokensTotal', sources: [{ family: 'vllm:prompt_tokens_total' }] },
    { metric: 'generationTokensTotal', sources: [{ family: 'vllm:generation_tokens_total' }] },
    { metric: 'requestsSuccessTotal', sources: [{ family: 'vllm:request_success_total' }] },
    { metric: 'preemptionsTotal', sources: [{ family: 'vllm:num_preemptions_total' }] },
    { metric: 'ttftSecondsSum', sources: [{ family: 'vllm:time_to_first_token_seconds_sum' }] },
    { metric: 'ttftCount', sources: [{ family: 'vllm:time_to_first_token_seconds_count' }] },
    {
      metric: 'interTokenSecondsSum',
      sources: [
        { family: 'vllm:inter_token_latency_seconds_sum' },
        { family: 'vllm:time_per_output_token_seconds_sum' },
      ],
    },
    {
      metric: 'interTokenCount',
      sources: [
        { family: 'vllm:inter_token_latency_seconds_count' },
        { family: 'vllm:time_per_output_token_seconds_count' },
      ],
    },
  ],
  // Counts engine steps: it moves during a long chunked prefill, when no token is finished yet.
  progress: [{ family: 'vllm:iteration_tokens_total_count' }],
  lora: {
    family: 'vllm:lora_requests_info',
    runningLabel: 'running_lora_adapters',
    waitingLabel: 'waiting_lora_adapters',
    slotsLabel: 'max_lora',
  },
  sleep: { family: 'vllm:engine_sleep_state', stateLabel: 'sleep_state', awake: 'awake' },
};
