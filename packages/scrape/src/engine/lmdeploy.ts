/**
 * LMDeploy. `engine` is the data-parallel rank, with one API server and one page for each.
 *
 * A request waits twice: at the API server until a request handle is free, then in the scheduler's
 * queue. Newer releases have a gauge for each (`lmdeploy/metrics/loggers.py`: waiting for free
 * request handles; waiting to be processed), which count different requests and so add up. Older
 * releases state the scheduler's alone.
 *
 * None of its pages tells the release.
 */
import type { EngineProfile } from './profile.ts';

const schedulerQueue = { family: 'lmdeploy:num_requests_waiting' };
const handleQueue = { family: 'lmdeploy:num_api_requests_waiting' };

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
    {
      metric: 'waitingRequests',
      sources: [{ add: [schedulerQueue, handleQueue] }, schedulerQueue],
    },
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
