/**
 * The live table as text. Pure: the same state gives the same lines, at most 100 columns wide.
 */
import type { EndpointRow } from './fleet-watch.ts';
import { bar, type Paint } from './paint.ts';

export interface TableState {
  title: string;
  phase: string;
  strategy: string;
  /** 0..1 of the present phase. */
  progress: number;
  rows: readonly EndpointRow[];
  /** `ip:port` of the slowed engine. */
  slowed: string;
  slowedSpeed: number;
  sent: number;
  done: number;
  failed: number;
  firstTokenMs: { p50: number; p99: number };
  freshnessMs: { p50: number; p99: number };
}

/** Age (ms) up to which a report is called fresh in green; the freshness budget is 75 ms plus. */
const greenAgeMs = 250;

export function renderTable(state: TableState, paint: Paint): string[] {
  const waitingMost = Math.max(8, ...state.rows.map((row) => row.waiting ?? 0));
  const picksMost = Math.max(1, ...state.rows.map((row) => row.picks));
  const lines = [
    paint.bold(state.title),
    '',
    `${state.phase}  picks ${paint.bold(paint.cyan(state.strategy))}  ` +
      `${paint.cyan(bar(state.progress, 20))} ` +
      (state.progress < 1
        ? `${Math.round(state.progress * 100)} %`
        : 'waiting for the last answers'),
    '',
    paint.dim(
      'NODE    ENDPOINT                    RUNNING  WAITING      KV CACHE          REPORT AGE  PICKS',
    ),
  ];
  let node = '';
  for (const row of state.rows) {
    if (node !== '' && row.nodeName !== node && row.nodeName !== '') lines.push('');
    const label = row.nodeName === node ? '' : row.nodeName;
    node = row.nodeName === '' ? node : row.nodeName;
    lines.push(renderRow(row, label, { state, waitingMost, picksMost, paint }));
  }
  lines.push('', ...renderFooter(state, paint));
  return lines;
}

interface RowContext {
  state: TableState;
  waitingMost: number;
  picksMost: number;
  paint: Paint;
}

function renderRow(row: EndpointRow, label: string, context: RowContext): string {
  const { state, waitingMost, picksMost, paint } = context;
  const slowed = row.endpoint === state.slowed;
  const name = row.endpoint.padEnd(16) + (slowed ? `slow ×${state.slowedSpeed}` : '').padEnd(11);
  const waiting = row.waiting ?? 0;
  const kv = row.kvCacheUsageRatio;
  const waitingText = `${number(row.waiting).padStart(3)} ${bar(waiting / waitingMost, 6)}`;
  const kvText = `${bar(kv ?? 0, 10)} ${kv === null ? '  –' : percent(kv)}`;
  return [
    label.padEnd(7),
    (slowed ? paint.magenta : plain)(name),
    number(row.running).padStart(7),
    waiting > 0 ? paint.yellow(waitingText) : paint.dim(waitingText),
    paintKv(kv, paint)(kvText),
    ageText(row, paint),
    `${String(row.picks).padStart(5)} ${paint.cyan(bar(row.picks / picksMost, 10).trimEnd())}`,
  ].join(' ');
}

function renderFooter(state: TableState, paint: Paint): string[] {
  const failed = `${state.failed} failed`;
  return [
    `Requests   ${state.done} of ${state.sent} answered, ` +
      (state.failed === 0 ? paint.green(failed) : paint.red(failed)),
    `First token   ${milliseconds(state.firstTokenMs.p50)} median, ` +
      `${milliseconds(state.firstTokenMs.p99)} 99th percentile`,
    `Reports are ${milliseconds(state.freshnessMs.p50)} old (median), ` +
      `${milliseconds(state.freshnessMs.p99)} (99th percentile); the picker polls nothing.`,
    paint.dim('Ctrl-C stops everything.'),
  ];
}

function ageText(row: EndpointRow, paint: Paint): string {
  if (row.ageMs === null) return paint.red('no report'.padStart(12));
  const age = milliseconds(row.ageMs);
  if (row.state !== 'fresh') return paint.red(`${row.state} ${age}`.padStart(12));
  return (row.ageMs <= greenAgeMs ? paint.green : paint.yellow)(age.padStart(12));
}

function paintKv(ratio: number | null, paint: Paint): (text: string) => string {
  if (ratio === null) return paint.dim;
  if (ratio > 0.9) return paint.red;
  return ratio > 0.7 ? paint.yellow : paint.green;
}

function plain(text: string): string {
  return text;
}

function number(value: number | null): string {
  return value === null ? '–' : String(Math.round(value));
}

function percent(ratio: number): string {
  return `${Math.round(ratio * 100)}%`.padStart(4);
}

/** `–` for none, else whole milliseconds, or seconds from ten on. */
export function milliseconds(value: number): string {
  if (Number.isNaN(value)) return '–';
  return value >= 10_000 ? `${(value / 1000).toFixed(1)} s` : `${Math.round(value)} ms`;
}
