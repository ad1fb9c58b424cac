/**
 * What a simulated engine's page shows besides its ranks, and the families that show it.
 */
import { expositionNumber } from './exposition-number.ts';
import { Histogram } from './histogram.ts';
import { boundText, familyHead } from './labels.ts';

export type SleepState = 'awake' | 'weights_offloaded' | 'discard_all';

/** What the page shows besides the ranks. The owner changes it and adds 1 to `revision`. */
export interface PageState {
  revision: number;
  /** Undefined: the engine was started without sleep mode. */
  sleep: SleepState | undefined;
  /** Label sets of the adapter gauge in the order of their first use, and when each last held. */
  adapters: Map<string, number>;
  /** Finished requests by handler, method and status class. */
  httpRequests: Map<string, number>;
  /** How long answering took, all handlers together. */
  httpSeconds: Histogram;
}

/** Label sets of adapters that are kept. */
export const adapterSetsMax = 1_000;

const httpSecondsBounds = [
  ...[0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 7.5, 10],
  ...[30, 60],
];

export function newPageState(sleep: SleepState | undefined): PageState {
  return {
    revision: 0,
    sleep,
    adapters: new Map(),
    httpRequests: new Map(),
    httpSeconds: new Histogram(httpSecondsBounds),
  };
}

/** The gauge of adapters in use; nothing for an engine without any. */
export function adapterFamily({ adapters }: PageState): string {
  if (adapters.size === 0) return '';
  const name = 'vllm:lora_requests_info';
  let text = familyHead(
    name,
    'gauge',
    'Adapters in use as labels; the value is when, in unix time.',
  );
  for (const [labels, unixS] of adapters) text += `${name}${labels} ${expositionNumber(unixS)}\n`;
  return text;
}

/** What the web server counts of itself. */
export function httpFamilies({ httpRequests, httpSeconds }: PageState): string {
  let text = familyHead('http_requests_total', 'counter', 'Requests that the web server answered.');
  for (const [labels, count] of httpRequests) {
    text += `http_requests_total${labels} ${expositionNumber(count)}\n`;
  }
  text += familyHead('http_request_size_bytes', 'summary', 'Announced size of request bodies.');
  text += familyHead('http_response_size_bytes', 'summary', 'Announced size of response bodies.');
  const { bounds, cumulative, count, sum } = httpSeconds;
  const name = 'http_request_duration_highr_seconds';
  text += familyHead(name, 'histogram', 'Seconds that answering took, for all handlers together.');
  for (const [i, bound] of bounds.entries()) {
    text += `${name}_bucket{le="${boundText(bound)}"} ${expositionNumber(cumulative[i]!)}\n`;
  }
  text += `${name}_bucket{le="+Inf"} ${expositionNumber(count)}\n`;
  text += `${name}_count ${expositionNumber(count)}\n${name}_sum ${expositionNumber(sum)}\n`;
  return text;
}
