/**
 * SGLang with `--enable-metrics`. Gauges move every 40 decode steps only, and request counters in
 * older releases when a request ends, so the token pool's use counts as a sign of progress too.
 */
import type { EngineProfile } from './profile.ts';

export const sglang: EngineProfile = {
  name: 'sglang',
  title: 'SGLang',
  metricsPath: '/metrics',
  prefix: 'sglang:',
  // sglang/srt/entrypoints/http_server.py: `server_info`; `get_server_info` is its older name.
  versionPages: [
    { path: '/server_info', field: 'version' },
    { path: '/get_server_info', field: 'version' },
  ],
  // Routers that show the page again, and some releases, write an underscore.
  aliases: [['sglang:', 'sglang_']],
  rankLabel: 'dp_rank',
  // Shards of one scheduler's requests.
  replicaLabels: ['pid', 'tp_rank', 'pp_rank', 'moe_ep_rank'],
  // With priority scheduling the series with an empty priority is the total of the others.
  partLabel: 'priority',
  modelLabels: ['model_name', 'name'],
  signals: [
    {
      metric: 'runningRequests',
      sources: [{ family: 'sglang:num_running_reqs' }, { family: 'sglang:num_requests_running' }],
    },
    {
      metric: 'waitingRequests',
      sources: [
        { family: 'sglang:num_queue_reqs' },
        { family: 'sglang:num_requests_waiting' },
        { family: 'sglang:queue_req' },
      ],
    },
    {
      // Of hybrid models `token_usage` is the largest of full attention, sliding window and state.
      metric: 'kvCacheUsageRatio',
      sources: [
        { max: [{ family: 'sglang:full_token_usage' }, { family: 'sglang:swa_token_usage' }] },
        { family: 'sglang:full_token_usage' },
        { family: 'sglang:token_usage' },
      ],
    },
    { metric: 'stateUsageRatio', sources: [{ family: 'sglang:mamba_usage' }] },
    { metric: 'kvCapacityTokens', sources: [{ family: 'sglang:max_total_num_tokens' }] },
    // One series per source: device, host, storage. A request's tokens are counted at one of them.
    { metric: 'prefixCacheHitsTotal', sources: [{ family: 'sglang:cached_tokens_total' }] },
    { metric: 'prefixCacheQueriesTotal', sources: [{ family: 'sglang:prompt_tokens_total' }] },
    {
      metric: 'kvCacheCapacityTokens',
      sources: [
        { family: 'sglang:max_total_num_tokens' },
        { multiply: [{ family: 'sglang:num_pages' }, { family: 'sglang:page_size' }] },
      ],
    },
    {
      metric: 'kvBlockTokens',
      sources: [
        { family: 'sglang:page_size' },
        { family: 'sglang:cache_config_info', label: 'page_size' },
      ],
    },
    { metric: 'prefixCacheHitRatio', sources: [{ family: 'sglang:cache_hit_rate' }] },
    { metric: 'promptTokensTotal', sources: [{ family: 'sglang:prompt_tokens_total' }] },
    { metric: 'generationTokensTotal', sources: [{ family: 'sglang:generation_tokens_total' }] },
    { metric: 'requestsSuccessTotal', sources: [{ family: 'sglang:num_requests_total' }] },
    {
      metric: 'ttftSecondsSum',
      sources: [{ family: 'sglang:time_to_first_token_seconds_sum' }],
    },
    { metric: 'ttftCount', sources: [{ family: 'sglang:time_to_first_token_seconds_count' }] },
    {
      metric: 'interTokenSecondsSum',
      sources: [
        { family: 'sglang:inter_token_latency_seconds_sum' },
        { family: 'sglang:time_per_output_token_seconds_sum' },
      ],
    },
    {
      metric: 'interTokenCount',
      sources: [
        { family: 'sglang:inter_token_latency_seconds_count' },
        { family: 'sglang:time_per_output_token_seconds_count' },
      ],
    },
  ],
  progress: [{ family: 'sglang:num_used_tokens' }, { family: 'sglang:token_usage' }],
};
