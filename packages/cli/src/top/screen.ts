/**
 * The lines of `top`. 80 columns hold all that matters; a wider screen adds the node and the engine.
 * Nothing is told by colour alone.
 */
import type { EndpointRow, Fleet, PoolRow } from './fleet.ts';
import { ordered, type View } from './order.ts';

export interface ScreenSettings extends View {
  columns: number;
  /** Lines at most; Infinity shows all. */
  rows: number;
  /** First endpoint shown. */
  offset: number;
  colour: boolean;
  /** The line of help, or what is being typed; '' leaves it out. */
  footer: string;
}

export interface Screen {
  lines: string[];
  /** Endpoints that match, and how many of them fit. */
  matching: number;
  fitting: number;
}

interface Column<Row> {
  title: string;
  /** Width; 0 takes what is left. */
  width: number;
  isLeft?: true;
  text(row: Row): string;
}

/** Pools and reasons beyond these leave the endpoints no room. */
const poolsMax = 8;
const reasonsMax = 2;

export function screenOf(fleet: Fleet, settings: ScreenSettings): Screen {
  const { columns } = settings;
  const list = ordered(fleet.endpoints, settings);
  const head = [...title(fleet, columns), '', ...pools(fleet.pools, settings), ''];
  const footer = settings.footer === '' ? [] : ['', clip(settings.footer, columns)];
  const room = Math.max(1, settings.rows - head.length - footer.length - 2);
  const offset = Math.max(0, Math.min(settings.offset, list.length - room));
  const shown = list.slice(offset, Number.isFinite(room) ? offset + room : undefined);
  const table = endpointColumns(fleet.endpoints, columns);
  const heading = lineOf(table, undefined, columns);
  const place = placeOf(shown.length, offset, list.length, settings);
  const lines = shown.map((row) => paint(lineOf(table, row, columns), row.state, settings.colour));
  if (list.length === 0) lines.push(emptyText(fleet, settings));
  return {
    lines: [...head, clip(place, columns), strong(heading, settings.colour), ...lines, ...footer],
    matching: list.length,
    fitting: room,
  };
}

function title({ sources, endpoints }: Fleet, columns: number): string[] {
  const counts = new Map<string, number>();
  for (const { state } of endpoints) counts.set(state, (counts.get(state) ?? 0) + 1);
  const states = [...counts].map(([state, count]) => `${count} ${state}`).join(', ');
  const first = `${endpoints.length} endpoints${states === '' ? '' : `: ${states}`}`;
  return [first, ...sources.map(({ url, text }) => `${url}  ${text}`)].map((line) =>
    clip(line, columns),
  );
}

function pools(rows: readonly PoolRow[], { columns, colour }: ScreenSettings): string[] {
  const table: Column<PoolRow>[] = [
    { title: 'POOL', width: 0, isLeft: true, text: (row) => row.pool || '(no pools here)' },
    { title: 'UP', width: 6, text: (row) => String(row.endpoints) },
    { title: 'FRESH', width: 6, text: (row) => String(row.fresh) },
    { title: 'RUN', width: 6, text: (row) => whole(row.running) },
    { title: 'WAIT', width: 6, text: (row) => whole(row.waiting) },
    { title: 'FLIGHT', width: 6, text: (row) => whole(row.inFlight) },
    { title: 'PICKS/S', width: 8, text: (row) => perSecond(row.picksPerS) },
  ];
  const lines = [strong(lineOf(table, undefined, columns), colour)];
  for (const row of rows.slice(0, poolsMax)) {
    const state = row.fresh === row.endpoints && row.endpoints > 0 ? 'fresh' : 'stale';
    lines.push(paint(lineOf(table, row, columns), state, colour));
    for (const reason of row.reasons.slice(0, reasonsMax)) lines.push(clip(`  ${reason}`, columns));
  }
  if (rows.length > poolsMax) lines.push(`  and ${rows.length - poolsMax} more pools`);
  return lines;
}

function endpointColumns(rows: readonly EndpointRow[], columns: number): Column<EndpointRow>[] {
  const widest = (text: (row: EndpointRow) => string, most: number, least = 5) =>
    rows.reduce((width, row) => Math.max(width, Math.min(most, text(row).length)), least);
  const table: Column<EndpointRow>[] = [
    { title: 'ENDPOINT', width: 0, isLeft: true, text: (row) => row.name },
    { title: 'STATE', width: widest(stateText, 18), isLeft: true, text: stateText },
    { title: 'AGE', width: 6, text: (row) => age(row.ageMs) },
    { title: 'RUN', width: 5, text: (row) => whole(row.running) },
    { title: 'WAIT', width: 5, text: (row) => whole(row.waiting) },
    { title: 'KV', width: 4, text: (row) => percent(row.kvUsage) },
    { title: 'FLIGHT', width: 6, text: (row) => whole(row.inFlight) },
    { title: 'PICKS/S', width: 7, text: (row) => perSecond(row.picksPerS) },
  ];
  if (columns >= 100) {
    const node = { title: 'NODE', width: widest((row) => row.node, 20), isLeft: true as const };
    table.splice(1, 0, { ...node, text: (row) => row.node || '-' });
  }
  if (columns >= 120) {
    const engine = {
      title: 'ENGINE',
      width: widest((row) => row.engine, 12, 6),
      isLeft: true as const,
    };
    table.splice(2, 0, { ...engine, text: (row) => row.engine || '-' });
  }
  return table;
}

/** Which part of the list this is, in which order. */
function placeOf(shown: number, offset: number, all: number, view: View): string {
  const part = shown < all ? `${offset + 1} to ${offset + shown} of ${all}` : `${all}`;
  const by = `by ${view.sort}${view.reverse ? ', reversed' : ''}`;
  return `${part} shown, ${by}${view.filter === '' ? '' : `, with: ${view.filter}`}`;
}

function emptyText({ sources }: Fleet, { filter }: ScreenSettings): string {
  if (filter !== '') return `nothing matches "${filter}"`;
  return sources.some((source) => source.ok) ? 'no endpoints' : 'nothing is known: see above';
}

/** One line; without a row, the titles. */
function lineOf<Row>(table: readonly Column<Row>[], row: Row | undefined, columns: number): string {
  const fixed = table.reduce((total, { width }) => total + width, 0) + table.length - 1;
  const cells = table.map((column) => {
    const width = column.width || Math.max(10, columns - fixed);
    const text = middle(row === undefined ? column.title : column.text(row), width);
    return column.isLeft ? text.padEnd(width) : text.padStart(width);
  });
  return clip(cells.join(' ').trimEnd(), columns);
}

/** The state, and why where it is not fresh. Old after a good scrape: nothing comes any more. */
function stateText({ state, reason }: EndpointRow): string {
  if (state === 'stale' && reason === 'ok') return 'stale:silent';
  return state === 'fresh' || reason === '' || reason === 'ok' ? state : `${state}:${reason}`;
}

/** Cut in the middle: the ends of pod names are what tells them apart. */
function middle(text: string, width: number): string {
  if (text.length <= width) return text;
  const tail = Math.floor((width - 1) / 2);
  return `${text.slice(0, width - 1 - tail)}…${text.slice(text.length - tail)}`;
}

function clip(text: string, columns: number): string {
  return text.length <= columns ? text : `${text.slice(0, Math.max(0, columns - 1))}…`;
}

function whole(value: number | null): string {
  return value === null ? '-' : String(Math.round(value));
}

function percent(value: number | null): string {
  return value === null ? '-' : `${Math.round(value * 100)}%`;
}

function perSecond(value: number | null): string {
  return value === null ? '-' : value.toFixed(1);
}

/** `84ms`, `2.3s`, `4m`, `3h`. */
function age(ms: number | null): string {
  if (ms === null) return '-';
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)}s`;
  return ms < 3_600_000 ? `${Math.floor(ms / 60_000)}m` : `${Math.floor(ms / 3_600_000)}h`;
}

function strong(line: string, colour: boolean): string {
  return colour ? `\x1b[1m${line}\x1b[0m` : line;
}

/** Yellow for old, red for unusable: readable in the dark, and the word stands beside it. */
function paint(line: string, state: string, colour: boolean): string {
  if (!colour || state === 'fresh') return line;
  const code = state === 'stale' || state === 'sleeping' ? 33 : 31;
  return `\x1b[${code}m${line}\x1b[0m`;
}
