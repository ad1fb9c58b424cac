/**
 * Triton with the TensorRT-LLM backend, port 8002. One family holds several numbers, told apart
 * by a label. `scheduled` are the requests in the running batch; `active` includes those that
 * still wait for their first step.
 *
 * Its release is told at another port (8000, `/v2`) than its metrics (8002), so it is not asked for.
 */
import type { EngineProfile } from './profile.ts';

const requests = 'nv_trt_llm_request_metrics';
const blocks = 'nv_trt_llm_kv_cache_block_metrics';

const block = (type: string) => ({ family: blocks, where: { kv_cache_block_type: type } });

export const tritonTrtllm: EngineProfile = {
  name: 'triton-trtllm',
  title: 'Triton with TensorRT-LLM',
  metricsPath: '/metrics',
  prefix: 'nv_trt_llm_',
  modelLabels: ['model'],
  signals: [
    {
      metric: 'runningRequests',
      sources: [
        { family: requests, where: { request_type: 'scheduled' } },
        { family: requests, where: { request_type: 'active' } },
      ],
    },
    {
      metric: 'waitingRequests',
      sources: [{ family: requests, where: { request_type: 'waiting' } }],
    },
    {
      metric: 'kvCacheUsageRatio',
      sources: [block('fraction'), { divide: [block('used'), block('max')] }],
    },
    {
      metric: 'kvCacheCapacityTokens',
      sources: [{ multiply: [block('max'), block('tokens_per')] }],
    },
    { metric: 'kvBlockTokens', sources: [block('tokens_per')] },
    { metric: 'runningMax', sources: [{ family: requests, where: { request_type: 'max' } }] },
  ],
  progress: [
    { family: 'nv_trt_llm_general_metrics', where: { general_type: 'iteration_counter' } },
  ],
};
