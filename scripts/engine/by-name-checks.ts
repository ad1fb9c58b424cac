/**
 * Scrapes by name against a real vLLM: the numbers are those of the whole page, pair by pair, and
 * what they cost the engine's process.
 *
 * Two pages are never of the same moment. Both are asked for at once, so that most pairs are served
 * without a step of the engine between them and must be equal; of the others every counter must lie
 * between the last pair and the next one, and each gauge must be one that a page of these has.
 */

import { isPage, PageFetcher, PageReader, PageSource } from '../../packages/scrape/src/index.ts';
import { type MetricName, metric, metricNames } from '../../packages/wire/src/index.ts';
import { cpuMsOf } from './process-cpu.ts';

type Numbers = Record<string, number>;

export interface PairedScrapes {
  equal: number;
  /** Pairs with a step of the engine between them, all of them in order. */
  moved: number;
  /** What was not as it must be; empty when all is well. */
  faults: string[];
  bytesRatio: number;
}

const fetchSettings = (url: string) => ({
  ...{ url, timeoutMs: 10_000, bytesMax: 8_388_608, tokenFile: '', localAddress: '' },
  ...{ tlsCaFile: '', tlsVerify: true },
});
const nowMs = () => performance.now();
const own: readonly MetricName[] = ['scrapeDurationMs', 'scrapeIntervalMs'];
const names = metricNames.filter((name) => !own.includes(name));
const counters = names.filter((name) => /Total$|Count$|Sum$/.test(name));

/** A source of pages of `engine`; whole ones, or by name where the engine can be asked so. */
function sourceOf(url: string, reader: PageReader, byName: boolean): PageSource {
  const deps = { reader, nowMs, cpuMs: () => 0, isRestart: () => false };
  return new PageSource({ fetch: fetchSettings(`${url}/metrics`), byName }, deps);
}

/** Pairs until `wanted` were equal, `pairsMax` at most. */
export async function pairedScrapes(url: string, wanted: number): Promise<PairedScrapes> {
  const pairsMax = 10 * wanted;
  const byName = sourceOf(url, new PageReader(), true);
  const whole = sourceOf(url, new PageReader(), false);
  const scrape = async (source: PageSource): Promise<Numbers> => {
    const { outcome } = await source.scrape('vllm');
    if ('reason' in outcome) throw new Error(outcome.detail);
    const { metrics } = outcome.reading;
    return Object.fromEntries(names.map((name) => [name, metrics[metric[name]] ?? Number.NaN]));
  };
  const result: PairedScrapes = { equal: 0, moved: 0, faults: [], bytesRatio: Number.NaN };
  try {
    while (!byName.isDecided) await scrape(byName);
    if (byName.way !== 'by_name') throw new Error(byName.status.why);
    let last: readonly Numbers[] = [await scrape(whole)];
    for (let pair = 0; pair < pairsMax && result.equal < wanted; pair++) {
      const both = await Promise.all([scrape(byName), scrape(whole)]);
      const [selected, full] = both;
      if (names.every((name) => Object.is(selected[name], full[name]))) result.equal++;
      else result.moved++;
      for (const name of names) {
        if (Number.isNaN(selected[name]) !== Number.isNaN(full[name])) {
          result.faults.push(`${name}: by name ${selected[name]}, whole ${full[name]}`);
        }
      }
      for (const name of counters) {
        const before = Math.max(...last.map((numbers) => numbers[name] as number));
        for (const numbers of both) {
          if ((numbers[name] as number) < before) result.faults.push(`${name} fell from ${before}`);
        }
      }
      last = both;
    }
    const { wholePages } = byName.counters;
    result.bytesRatio = whole.status.wholeBytes / byName.status.byNameBytes;
    // The first one, and one a minute; else the pairs would compare whole pages with each other.
    if (wholePages > 30) result.faults.push(`${wholePages} whole pages instead of pages by name`);
  } finally {
    byName.close();
    whole.close();
  }
  return result;
}

export interface CpuPerScrape {
  healthMs: number;
  wholeMs: number;
  byNameMs: number;
}

/** CPU of process `pid` per request, over kept connections, in blocks that take turns. */
export async function cpuPerScrape(url: string, pid: number): Promise<CpuPerScrape> {
  const rounds = 12;
  const block = 40;
  const reader = new PageReader();
  const whole = sourceOf(url, reader, false);
  const byName = sourceOf(url, reader, true);
  const anything = { accept: '*/*', isType: () => true, checkEnd: () => {} };
  const health = new PageFetcher(fetchSettings(`${url}/health`), nowMs, anything);
  const kinds: readonly [keyof CpuPerScrape, () => Promise<unknown>][] = [
    ['healthMs', async () => isPage(await health.fetch())],
    ['wholeMs', () => whole.scrape('vllm')],
    ['byNameMs', () => byName.scrape('vllm')],
  ];
  const sums: CpuPerScrape = { healthMs: 0, wholeMs: 0, byNameMs: 0 };
  try {
    while (!byName.isDecided) await byName.scrape('vllm');
    for (let round = -1; round < rounds; round++) {
      for (const [kind, ask] of kinds) {
        const fromMs = cpuMsOf(pid);
        for (let i = 0; i < block; i++) await ask();
        // The first round warms up.
        if (round >= 0) sums[kind] += cpuMsOf(pid) - fromMs;
      }
    }
  } finally {
    for (const source of [whole, byName, health]) source.close();
  }
  const each = (ms: number) => ms / (rounds * block);
  const { healthMs, wholeMs, byNameMs } = sums;
  return { healthMs: each(healthMs), wholeMs: each(wholeMs), byNameMs: each(byNameMs) };
}
