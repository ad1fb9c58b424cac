/**
 * Reads a trace of JSON lines: a header (`trace, source, license, blockTokens, global, spanMs`),
 * then a row per request, `{"t": ms, "i": input tokens, "o": output tokens, "s": session,
 * "b": [[first block id, count], …]}`. Of the header only `blockTokens` must be there; of a row
 * `t`, `i` and `o`. Rows out of order are put in order; lengths of 0 are counted as 1.
 */
import type { Trace, TraceRow } from './trace.ts';

class TraceError extends Error {
  constructor(line: number, problem: string) {
    super(`line ${line}: ${problem}`);
    this.name = 'TraceError';
  }
}

/** Longer prompts and answers are taken for a fault of the file. */
const tokensMax = 100_000_000;

/** Throws TraceError with the number of the line, the first being 1. */
export function readTrace(text: string, fallbackName: string): Trace {
  const lines = text.split('\n');
  const header = objectOf(lines[0] ?? '', 1);
  const { blockTokens, global = [] } = header;
  if (!isCount(blockTokens) || blockTokens < 1 || blockTokens > tokensMax) {
    throw new TraceError(1, 'the header needs "blockTokens", a whole number above 0');
  }
  if (!Array.isArray(global) || !global.every(isCount)) {
    throw new TraceError(1, '"global" must be a list of block ids');
  }
  const rows: TraceRow[] = [];
  for (let line = 2; line <= lines.length; line++) {
    const content = lines[line - 1]!;
    if (content.trim() !== '') rows.push(rowOf(objectOf(content, line), line, blockTokens));
  }
  if (rows.length === 0) throw new TraceError(lines.length, 'no request in the file');
  rows.sort((a, b) => a.atMs - b.atMs);
  const { spanMs } = header;
  if (spanMs !== undefined && !(typeof spanMs === 'number' && spanMs >= 0)) {
    throw new TraceError(1, '"spanMs" must be a time in ms');
  }
  const lastMs = rows.at(-1)!.atMs;
  const spanMin = lastMs + Math.max(1, (lastMs - rows[0]!.atMs) / rows.length);
  return {
    name: textOf(header.trace) ?? fallbackName,
    source: textOf(header.source) ?? 'unknown source',
    license: textOf(header.license) ?? 'unknown licence',
    blockTokens,
    global,
    spanMs: Math.max(spanMs ?? 0, spanMin),
    rows,
  };
}

function rowOf(row: Record<string, unknown>, line: number, blockTokens: number): TraceRow {
  const { t, i, o, s = -1, b = [] } = row;
  if (!(typeof t === 'number' && t >= 0 && Number.isFinite(t))) {
    throw new TraceError(line, '"t" must be a time in ms, 0 or more');
  }
  if (!isCount(i) || i > tokensMax) throw new TraceError(line, '"i" must be a number of tokens');
  if (!isCount(o) || o > tokensMax) throw new TraceError(line, '"o" must be a number of tokens');
  if (!(Number.isSafeInteger(s) && (s as number) >= -1)) {
    throw new TraceError(line, '"s" must be the number of a session, or -1');
  }
  if (!Array.isArray(b)) throw new TraceError(line, '"b" must be a list of [first id, count]');
  const runs: number[] = [];
  let blocks = 0;
  for (const run of b) {
    if (!Array.isArray(run) || run.length !== 2 || !isCount(run[0]) || !isCount(run[1])) {
      throw new TraceError(line, '"b" must be a list of [first id, count]');
    }
    blocks += run[1];
    runs.push(run[0], run[1]);
  }
  // One more than fits is how some recorders count a block that the answer began.
  if (blocks > Math.ceil(i / blockTokens) + 1) {
    throw new TraceError(line, `${blocks} blocks of ${blockTokens} tokens for a prompt of ${i}`);
  }
  return {
    atMs: t,
    inputTokens: Math.max(1, i),
    outputTokens: Math.max(1, o),
    session: s as number,
    runs,
  };
}

function objectOf(content: string, line: number): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    throw new TraceError(line, 'not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TraceError(line, 'not a JSON object');
  }
  return value as Record<string, unknown>;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
