/**
 * llama.cpp's server with `--metrics`. No labels. Tokens are counted when a request ends, so the
 * decode calls are the sign of progress. Newer builds state no KV usage: then it is unknown.
 */
import type { EngineProfile } from './profile.ts';

export const llamacpp: EngineProfile = {
  name: 'llamacpp',
  title: 'llama.cpp server',
  metricsPath: '/metrics',
  prefix: 'llamacpp:',
  // tools/server of llama.cpp, `GET /props`: build number and commit.
  versionPages: [{ path: '/props', field: 'build_info' }],
  aliases: [['llamacpp:', 'llamacpp_']],
  modelLabels: ['model'],
  signals: [
    { metric: 'runningRequests', sources: [{ family: 'llamacpp:requests_processing' }] },
    { metric: 'waitingRequests', sources: [{ family: 'llamacpp:requests_deferred' }] },
    { metric: 'kvCacheUsageRatio', sources: [{ family: 'llamacpp:kv_cache_usage_ratio' }] },
    { metric: 'promptTokensTotal', sources: [{ family: 'llamacpp:prompt_tokens_total' }] },
    { metric: 'generationTokensTotal', sources: [{ family: 'llamacpp:tokens_predicted_total' }] },
  ],
  progress: [{ family: 'llamacpp:n_decode_total' }],
};
