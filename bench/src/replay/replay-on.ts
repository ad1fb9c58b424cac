/** Sends requests at their times through Envoy and a picker to simulated engines, from cold. */
import { ChatClient, type ChatResult, Rig } from '@leadsman/testing';
import type { RoutingRequest } from '../routing/request.ts';
import { mean, percentile, sorted } from '../routing/statistics.ts';
import { promptText } from './prompt-text.ts';

export interface ReplayOptions {
  strategy: string;
  pods: number;
  kv: number;
  requests: readonly RoutingRequest[];
}

export interface ReplayFigures {
  requests: number;
  failed: number;
  ttft_ms: { p50: number; p99: number };
  e2e_ms: { mean: number };
  /** Of prompt tokens, by the engines' own counters. */
  hit_ratio: number;
}

const nodes = 2;
const timeoutMs = 300_000;

export async function replayOn(options: ReplayOptions): Promise<ReplayFigures> {
  const rig = await Rig.start({
    nodes,
    podsPerNode: options.pods / nodes,
    // Few events per answer: what is measured is where requests go, not how events are passed on.
    engine: { parameters: { kvCapacityTokens: options.kv, blockTokens: 64 }, streamTokens: 16 },
    strategy: options.strategy,
    pickerFlags: { workers: 1 },
  });
  const client = new ChatClient(rig.gatewayUrl, { timeoutMs });
  try {
    const results = await sendAll(client, options.requests);
    const counts = await Promise.all(rig.engines.engines.map(({ url }) => prefixCounts(url)));
    const total = (of: (count: PrefixCounts) => number) =>
      counts.reduce((sum, count) => sum + of(count), 0);
    const good = results.filter(({ failure }) => failure === undefined);
    const ttft = sorted([Float64Array.from(good, ({ firstTokenMs }) => firstTokenMs)]);
    return {
      requests: results.length,
      failed: results.length - good.length,
      ttft_ms: { p50: percentile(ttft, 0.5), p99: percentile(ttft, 0.99) },
      e2e_ms: { mean: mean(Float64Array.from(good, ({ totalMs }) => totalMs)) },
      hit_ratio: total(({ hits }) => hits) / total(({ queries }) => queries),
    };
  } finally {
    await client.close();
    await rig.stop();
  }
}

async function sendAll(
  client: ChatClient,
  requests: readonly RoutingRequest[],
): Promise<ChatResult[]> {
  const startedMs = performance.now();
  const sent: Promise<ChatResult>[] = [];
  for (const request of requests) {
    const waitMs = request.atMs - (performance.now() - startedMs);
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    const { outputTokens } = request;
    sent.push(client.send({ prompt: promptText(request), outputTokens }));
  }
  return Promise.all(sent);
}

interface PrefixCounts {
  hits: number;
  queries: number;
}

async function prefixCounts(url: string): Promise<PrefixCounts> {
  const page = await (await fetch(`${url}/metrics`)).text();
  const value = (name: string) => {
    const found = new RegExp(`^vllm:${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(page);
    if (found === null) throw new Error(`the engine's page has no ${name}`);
    return Number(found[1]);
  };
  return { hits: value('prefix_cache_hits_total'), queries: value('prefix_cache_queries_total') };
}
