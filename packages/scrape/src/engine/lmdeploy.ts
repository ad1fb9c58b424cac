/**
 * LMDeploy. `engine` is the data-parallel rank, with one API server and one page for each. Its
 * API server holds requests back when no handle is free; those wait as well, but are counted
 * apart from the scheduler's queue, whose gauge is read here.
 */
import type { EngineProfile } from './profile.ts';

export const lmdeploy: EngineProfile = {
  name: 'lmdeploy',
  title: 'LMDeploy',
  metricsPath: '/metrics',
  prefix: 'lmdeploy:',
  aliases: [['lmdeploy:', 'lmdeploy_']],
  rankLabel: 'engine',
  replicaLabels: ['pid'],
  modelLabels: ['model_name'],
  signals: [
    { metric: 'runningRequests', sources: [{ family: 'lmdeploy:num_requests_running' }] },
    { metric: 'waitingRequests', sources: [{ family: 'lmdeploy:num_requests_waiting' }] },
    { metric: 'kvCacheUsageRatio', sources: [{ family: 'lmdeploy:gpu_cache_usage_perc' }] },
    { metric: 'promptTokensTotal', sources: [{ family: 'lmdeploy:prompt_tokens_total' }] },
    { metric: 'generationTokensTotal', sources: [{ family: 'lmdeploy:generation_tokens_total' }] },
    { metric: 'requestsSuccessTotal', sources: [{ family: 'lmdeploy:request_success_total' }] },
    {
      metric: 'ttftSecondsSum',
      sources: [{ family: 'lmdeploy:time_to_first_token_seconds_sum' }],
    },
    { metric: 'ttftCount', sources: [{ family: 'lmdeploy:time_to_first_token_seconds_count' }] },
    {
      metric: 'interTokenSecondsSum',
      sources: [
        { family: 'lmdeploy:iter_token_latency_sum' },
        { family: 'lmdeploy:time_per_output_token_seconds_sum' },
      ],
    },
    {
      metric: 'interTokenCount',
      sources: [
        { family: 'lmdeploy:iter_token_latency_count' },
        { family: 'lmdeploy:time_per_output_token_seconds_count' },
      ],
    },
  ],
};
