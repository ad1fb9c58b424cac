/**
 * What the demo found: as one object for programs, and as text for people.
 */
import { type EngineProcess, quantile } from '@leadsman/testing';
import { bar, type Paint } from './paint.ts';
import type { Phase } from './phase.ts';
import { milliseconds } from './table.ts';

/** Reports older than this many scrape intervals mean that processes did not get to run. */
const busyIntervals = 10;

/** The object that `--json` prints. */
export interface DemoResult {
  requests: number;
  failed: number;
  nodes: number;
  pods: number;
  /** Requests by the endpoint that got them, both phases together. */
  picks: Record<string, number>;
  picks_by_strategy: Record<string, Record<string, number>>;
  slowed: { endpoint: string; speed: number };
  /** Age of the reports that the picker held, over all endpoints and the whole run. */
  freshness_ms: { p50: number; p99: number };
  scrape_interval_ms: number;
  ttft_ms: Record<string, { p50: number; p99: number }>;
  /** Metrics pages that an engine served to anyone but its own sidecar. */
  picker_scrapes: number;
  transport: string;
  versions: { envoy: string; nats: string | null; node: string };
}

export interface SummaryInput {
  phases: readonly Phase[];
  ages: readonly number[];
  engines: Pick<EngineProcess, 'engines' | 'state'>;
  nodes: number;
  slowed: { endpoint: string; speed: number };
  scrapeIntervalMs: number;
  foreignScrapes: number;
  transport: string;
  versions: DemoResult['versions'];
}

export function summarize(input: SummaryInput): DemoResult {
  const endpoints = input.engines.engines.map(({ host, port }) => `${host}:${port}`);
  const picks: Record<string, number> = {};
  const byStrategy: DemoResult['picks_by_strategy'] = {};
  for (const endpoint of endpoints) picks[endpoint] = 0;
  const ttft: DemoResult['ttft_ms'] = {};
  for (const phase of input.phases) {
    const name = jsonName(phase.strategy);
    ttft[name] = { p50: rounded(phase.firstTokenMs(0.5)), p99: rounded(phase.firstTokenMs(0.99)) };
    byStrategy[name] = {};
    for (const [i, endpoint] of endpoints.entries()) {
      const count = phase.picks[i] ?? 0;
      byStrategy[name][endpoint] = count;
      picks[endpoint]! += count;
    }
  }
  return {
    requests: input.phases.reduce((sum, phase) => sum + phase.done, 0),
    failed: input.phases.reduce((sum, phase) => sum + phase.failures.length, 0),
    nodes: input.nodes,
    pods: endpoints.length,
    picks,
    picks_by_strategy: byStrategy,
    slowed: input.slowed,
    freshness_ms: {
      p50: rounded(quantile(input.ages, 0.5)),
      p99: rounded(quantile(input.ages, 0.99)),
    },
    scrape_interval_ms: input.scrapeIntervalMs,
    ttft_ms: ttft,
    picker_scrapes: input.foreignScrapes,
    transport: input.transport,
    versions: input.versions,
  };
}

/** The comparison as people read it. */
export function summaryText(result: DemoResult, paint: Paint): string {
  const rows = Object.entries(result.ttft_ms);
  const most = Math.max(1, ...rows.map(([, { p99 }]) => p99));
  const lines = [
    paint.bold('Time to first token'),
    paint.dim('  picks by          median   99th percentile'),
  ];
  for (const [name, { p50, p99 }] of rows) {
    const paintBar = p99 === most ? paint.yellow : paint.green;
    lines.push(
      `  ${name.replace('_', '-').padEnd(14)} ${milliseconds(p50).padStart(9)} ` +
        `${milliseconds(p99).padStart(9)}  ${paintBar(bar(p99 / most, 36).trimEnd())}`,
    );
  }
  const [random, byLoad] = [rows[0]?.[1].p99, rows[1]?.[1].p99];
  if (random !== undefined && byLoad !== undefined) {
    lines.push(`  ${comparison(random, byLoad, paint)}`);
  }
  if (result.freshness_ms.p99 > busyIntervals * result.scrape_interval_ms) {
    lines.push(
      paint.yellow(
        '  This machine was too busy to scrape in time: run it again when it is quieter.',
      ),
    );
  }
  lines.push('', `${paint.bold('The slowed engine')} (${result.slowed.endpoint}) got`);
  for (const [name, picks] of Object.entries(result.picks_by_strategy)) {
    const total = Object.values(picks).reduce((sum, count) => sum + count, 0);
    const count = picks[result.slowed.endpoint] ?? 0;
    const share = total === 0 ? 0 : (100 * count) / total;
    lines.push(
      `  ${name.replace('_', '-').padEnd(14)} ${String(count).padStart(5)} of ${total} requests ` +
        `(${share.toFixed(1)} %)`,
    );
  }
  const { envoy, nats, node } = result.versions;
  const failed = `${result.failed} failed`;
  lines.push(
    '',
    `${result.requests} requests, ${result.failed === 0 ? paint.green(failed) : paint.red(failed)}. ` +
      `Reports were ${milliseconds(result.freshness_ms.p50)} old (median), ` +
      `${milliseconds(result.freshness_ms.p99)} (99th percentile), ` +
      `at one scrape per ${result.scrape_interval_ms} ms and engine.`,
    `Metrics pages fetched by anyone but an engine's own sidecar: ${result.picker_scrapes}.`,
    `Envoy ${envoy}, ${nats === null ? 'no broker' : `NATS ${nats}`}, Node ${node}.`,
  );
  return `${lines.join('\n')}\n`;
}

function comparison(random: number, byLoad: number, paint: Paint): string {
  const ratio = random / byLoad;
  return ratio >= 1
    ? `By load, the 99th percentile is ${paint.bold(ratio.toFixed(1))} × lower.`
    : `By load, the 99th percentile is ${paint.bold((1 / ratio).toFixed(1))} × higher.`;
}

function jsonName(strategy: string): string {
  return strategy.replaceAll('-', '_');
}

/** Whole tenths; null is JSON's NaN, so a missing figure stays visible. */
function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
