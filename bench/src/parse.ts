/**
 * `npm run bench -- parse`: time to parse an engine's metrics page, from its bytes to the samples
 * that the engine's profile wants, against the npm package parse-prometheus-text-format, which
 * ends with all families as text. `read` goes on to the normalised numbers of a report, which the
 * npm package leaves to its users. Pages are the simulated engine's: one rank (45 KB) and four
 * (150 KB), with the numbers of an engine that has served.
 *
 * Both run in this process, in turns, and the best turn of each counts, so that a noisy machine
 * hits both alike. The npm parser takes a string, which its users first decode from bytes; that
 * is inside its time.
 */
import { PageReader } from '@leadsman/scrape';
import { startEngineSimulator } from '@leadsman/testing';
import { metric } from '@leadsman/wire';
import parsePrometheusTextFormat from 'parse-prometheus-text-format';
import type { BenchOptions } from './main.ts';

export const about = 'reading a metrics page of 45 and 150 KB, against an npm parser';

interface PageFigures {
  bytes: number;
  lines: number;
  parse_us: number;
  read_us: number;
  npm_us: number;
  mb_per_s: number;
  ratio: number;
  read_ratio: number;
}

export async function run(options: BenchOptions): Promise<Record<string, unknown>> {
  const pages: Record<string, PageFigures> = {};
  for (const ranks of [1, 4]) {
    const page = await simulatedPage(ranks);
    checkAgainstNpm(page, ranks);
    pages[`ranks_${ranks}`] = measure(page, options.smoke);
  }
  const ratio = Math.min(...Object.values(pages).map((page) => page.ratio));
  if (!options.json) {
    for (const [name, page] of Object.entries(pages)) {
      process.stdout.write(
        `${name}  ${page.bytes} bytes, ${page.lines} lines: parse ${page.parse_us} µs ` +
          `(${page.mb_per_s} MB/s), read ${page.read_us} µs, npm parser ${page.npm_us} µs, ` +
          `ratio ${page.ratio} (read ${page.read_ratio})\n`,
      );
    }
    process.stdout.write(`ratio ${ratio}\n`);
  }
  return { pages, ratio };
}

/** The page of an engine that has served some requests, so that numbers have digits. */
async function simulatedPage(ranks: number): Promise<Buffer> {
  const engine = await startEngineSimulator({ ranks, speed: 50 });
  try {
    const body = JSON.stringify({
      model: 'any',
      prompt: 'How deep is the water below the bow of this ship? '.repeat(20),
      max_tokens: 40,
    });
    const headers = { 'content-type': 'application/json' };
    const asked = Array.from({ length: 24 }, async () => {
      const url = `${engine.url}/v1/completions`;
      const reply = await fetch(url, { method: 'POST', headers, body });
      await reply.arrayBuffer();
    });
    await Promise.all(asked);
    return Buffer.from(engine.page());
  } finally {
    await engine.stop();
  }
}

/** A fast parser that reads something else would prove nothing. */
function checkAgainstNpm(page: Buffer, ranks: number): void {
  const outcome = new PageReader().read(page, 'vllm');
  if (!('reading' in outcome)) throw new Error(outcome.detail);
  const families = parsePrometheusTextFormat(page.toString());
  const tokens = families.find(({ name }) => name === 'vllm:generation_tokens_total');
  const expected = (tokens?.metrics ?? []).reduce((sum, one) => sum + Number(one.value), 0);
  const { metrics, engineRanks } = outcome.reading;
  if (metrics[metric.generationTokensTotal] !== expected || engineRanks !== ranks) {
    throw new Error(`read ${metrics[metric.generationTokensTotal]}, npm parser read ${expected}`);
  }
}

function measure(page: Buffer, smoke: boolean): PageFigures {
  const reader = new PageReader();
  const rounds = smoke ? 3 : 60;
  let parseUs = Number.POSITIVE_INFINITY;
  let readUs = Number.POSITIVE_INFINITY;
  let npmUs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    parseUs = Math.min(
      parseUs,
      timeUs(100, () => reader.parse(page, 'vllm')),
    );
    readUs = Math.min(
      readUs,
      timeUs(100, () => reader.read(page, 'vllm')),
    );
    npmUs = Math.min(
      npmUs,
      timeUs(5, () => parsePrometheusTextFormat(page.toString())),
    );
  }
  return {
    bytes: page.length,
    lines: page.toString('latin1').split('\n').length - 1,
    parse_us: Number(parseUs.toFixed(1)),
    read_us: Number(readUs.toFixed(1)),
    npm_us: Number(npmUs.toFixed(1)),
    mb_per_s: Math.round(page.length / parseUs),
    ratio: Number((npmUs / parseUs).toFixed(1)),
    read_ratio: Number((npmUs / readUs).toFixed(1)),
  };
}

function timeUs(repeats: number, run: () => unknown): number {
  const startedAtMs = performance.now();
  for (let i = 0; i < repeats; i++) run();
  return ((performance.now() - startedAtMs) * 1_000) / repeats;
}
