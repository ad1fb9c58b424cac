/**
 * The families of vLLM's metrics page in the order in which it prints them, for the engine's two
 * generations: V1 (as of 0.11) and V0 (as of 0.8). Names, types, labels and order are vLLM's; the
 * help texts are ours.
 */
import type { Rank } from './rank.ts';
import type { HistogramName } from './rank-statistics.ts';

export interface GaugeFamily {
  type: 'gauge' | 'counter';
  name: string;
  help: string;
  /** One series per entry, with these labels besides the rank's own. */
  series: readonly { labels?: Readonly<Record<string, string>>; value: (rank: Rank) => number }[];
}

export interface HistogramFamily {
  type: 'histogram';
  name: string;
  help: string;
  histogram: HistogramName;
}

export type Family = GaugeFamily | HistogramFamily;

const running: Family = gauge(
  'vllm:num_requests_running',
  'Requests that the engine computes at the moment.',
  (rank) => rank.model.gauges.running,
);
const waiting: Family = gauge(
  'vllm:num_requests_waiting',
  'Requests that have arrived and are not computed yet.',
  (rank) => rank.model.gauges.waiting,
);
const preemptions: Family = counter(
  'vllm:num_preemptions_total',
  'Requests put back because the cache was full.',
  (rank) => rank.model.gauges.preemptionsTotal,
);
const promptTokens: Family = counter(
  'vllm:prompt_tokens_total',
  'Prompt tokens computed so far.',
  (rank) => rank.model.gauges.promptTokensTotal,
);
const generationTokens: Family = counter(
  'vllm:generation_tokens_total',
  'Output tokens sampled so far.',
  (rank) => rank.model.gauges.generationTokensTotal,
);
const success: Family = {
  type: 'counter',
  name: 'vllm:request_success_total',
  help: 'Requests that ended, by why they ended.',
  series: (['stop', 'length', 'abort'] as const).map((reason) => ({
    labels: { finished_reason: reason },
    value: (rank: Rank) => rank.statistics.finished[reason],
  })),
};

const requestSizes: readonly Family[] = [
  histogram('vllm:request_prompt_tokens', 'Prompt tokens per request.', 'promptTokens'),
  histogram('vllm:request_generation_tokens', 'Output tokens per request.', 'generationTokens'),
];
const requestParameters: readonly Family[] = [
  histogram(
    'vllm:request_max_num_generation_tokens',
    'Most output tokens that a request may have.',
    'maxGenerationTokens',
  ),
  histogram('vllm:request_params_n', 'Choices asked for per request.', 'choicesParameter'),
  histogram('vllm:request_params_max_tokens', 'max_tokens as requested.', 'maxTokensParameter'),
];
const stepTokens = histogram(
  'vllm:iteration_tokens_total',
  'Tokens that one step of the engine computed.',
  'stepTokens',
);
const firstToken = histogram(
  'vllm:time_to_first_token_seconds',
  'Seconds from arrival to the first output token.',
  'firstTokenSeconds',
);
const perToken = histogram(
  'vllm:time_per_output_token_seconds',
  'Seconds between two output tokens of a request, under its old name.',
  'interTokenSeconds',
);
const requestTimes: readonly Family[] = [
  histogram(
    'vllm:e2e_request_latency_seconds',
    'Seconds from the arrival of a request to its end.',
    'endToEndSeconds',
  ),
  histogram(
    'vllm:request_queue_time_seconds',
    'Seconds that a request waited to be scheduled.',
    'queueSeconds',
  ),
  histogram(
    'vllm:request_inference_time_seconds',
    'Seconds that a request was being computed.',
    'inferenceSeconds',
  ),
  histogram(
    'vllm:request_prefill_time_seconds',
    'Seconds that the prompt of a request took.',
    'prefillSeconds',
  ),
  histogram(
    'vllm:request_decode_time_seconds',
    'Seconds that the output of a request took after its first token.',
    'decodeSeconds',
  ),
];

export const v1Families: readonly Family[] = [
  running,
  waiting,
  gauge(
    'vllm:kv_cache_usage_perc',
    'Used share of the KV cache, between 0 and 1.',
    (rank) => rank.model.gauges.kvUsageRatio,
  ),
  counter(
    'vllm:prefix_cache_queries_total',
    'Prompt tokens looked up in the prefix cache.',
    (rank) => rank.model.gauges.prefixQueryTokensTotal,
  ),
  counter(
    'vllm:prefix_cache_hits_total',
    'Prompt tokens found in the prefix cache.',
    (rank) => rank.model.gauges.prefixHitTokensTotal,
  ),
  preemptions,
  promptTokens,
  generationTokens,
  success,
  ...requestSizes,
  stepTokens,
  ...requestParameters,
  firstToken,
  perToken,
  histogram(
    'vllm:inter_token_latency_seconds',
    'Seconds between two output tokens of a request.',
    'interTokenSeconds',
  ),
  histogram(
    'vllm:request_time_per_output_token_seconds',
    'Mean seconds per output token of a request.',
    'requestInterTokenSeconds',
  ),
  ...requestTimes,
];

export const v0Families: readonly Family[] = [
  running,
  waiting,
  gauge('vllm:num_requests_swapped', 'Requests whose cache was moved to the host.', () => 0),
  gauge(
    'vllm:gpu_cache_usage_perc',
    'Used share of the KV cache on the accelerator, between 0 and 1.',
    (rank) => rank.model.gauges.kvUsageRatio,
  ),
  gauge('vllm:cpu_cache_usage_perc', 'Used share of the KV cache on the host.', () => 0),
  gauge('vllm:cpu_prefix_cache_hit_rate', 'Hit share of the prefix cache, host.', () => -1),
  gauge('vllm:gpu_prefix_cache_hit_rate', 'Hit share of the prefix cache.', (rank) => {
    const { prefixHitTokensTotal, prefixQueryTokensTotal } = rank.model.gauges;
    return prefixQueryTokensTotal === 0 ? -1 : prefixHitTokensTotal / prefixQueryTokensTotal;
  }),
  preemptions,
  promptTokens,
  generationTokens,
  stepTokens,
  firstToken,
  perToken,
  ...requestTimes,
  ...requestSizes,
  ...requestParameters,
  success,
];

function gauge(name: string, help: string, value: (rank: Rank) => number): Family {
  return { type: 'gauge', name, help, series: [{ value }] };
}

function counter(name: string, help: string, value: (rank: Rank) => number): Family {
  return { type: 'counter', name, help, series: [{ value }] };
}

function histogram(name: string, help: string, member: HistogramName): Family {
  return { type: 'histogram', name, help, histogram: member };
}
