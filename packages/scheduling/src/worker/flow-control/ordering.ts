/**
 * In which order the requests of one flow are dispatched. An order is a key that is fixed when a
 * request arrives, least first, so that a heap holds it.
 */
import type { HeldRequest } from './held-request.ts';

export const orderings = ['fcfs', 'edf', 'shortest'] as const;

export type Ordering = (typeof orderings)[number];

/**
 * Waiting makes a request shorter by so many tokens per ms. At a prefill rate of 20 tokens per ms,
 * which today's engines reach, a long prompt is overtaken by short ones for about as long as it
 * would itself compute, not for ever.
 */
export const ageingTokensPerMsDefault = 20;

/**
 * The key of a request:
 *
 * - `fcfs`: when it came
 * - `edf`: its deadline; those without one come last, in order of arrival
 * - `shortest`: tokens − ageing × time waited. All wait on the same clock, so the difference of two
 *   requests never changes and `tokens + ageing × arrival` orders them the same way.
 */
export function orderingKey(
  ordering: Ordering,
  request: HeldRequest,
  ageingTokensPerMs: number,
): number {
  switch (ordering) {
    case 'fcfs':
      return request.arrivedAtMs;
    case 'edf':
      return request.deadlineMs;
    case 'shortest':
      return request.promptTokens + ageingTokensPerMs * request.arrivedAtMs;
  }
}
