/**
 * Hugging Face Text Generation Inference. It states no KV usage: the tokens its batch may grow to
 * over the tokens a batch may have is the same thing by another name. Counters have no `_total`,
 * and tokens are counted when a request ends, so steps of inference are the sign of progress.
 */
import type { EngineProfile } from './profile.ts';

export const tgi: EngineProfile = {
  name: 'tgi',
  title: 'Text Generation Inference',
  metricsPath: '/metrics',
  prefix: 'tgi_',
  // The router's `Info` (docs of its HTTP API, `GET /info`).
  versionPages: [{ path: '/info', field: 'version' }],
  modelLabels: [],
  signals: [
    { metric: 'runningRequests', sources: [{ family: 'tgi_batch_current_size' }] },
    { metric: 'waitingRequests', sources: [{ family: 'tgi_queue_size' }] },
    {
      metric: 'kvCacheUsageRatio',
      sources: [
        {
          divide: [
            { family: 'tgi_batch_current_max_tokens' },
            { family: 'tgi_batch_max_total_tokens' },
          ],
        },
      ],
    },
    { metric: 'kvCacheCapacityTokens', sources: [{ family: 'tgi_batch_max_total_tokens' }] },
    { metric: 'promptTokensTotal', sources: [{ family: 'tgi_request_input_length_sum' }] },
    { metric: 'generationTokensTotal', sources: [{ family: 'tgi_request_generated_tokens_sum' }] },
    { metric: 'requestsSuccessTotal', sources: [{ family: 'tgi_request_success' }] },
  ],
  progress: [{ family: 'tgi_batch_inference_count' }],
};
