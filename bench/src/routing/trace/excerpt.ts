/**
 * The form in which excerpts of traces are kept in the repository. First a line of JSON as in the
 * trace, then one line per request: ms since the one before, input tokens, output tokens, session
 * (`-`: unknown), then the blocks, numbers in base 36. `~n` stands for the first n blocks of the
 * session's request before, `+n` for n blocks not seen yet, `a.n` for n blocks from number a on.
 * Blocks are numbered as they come; the numbers of the source say nothing.
 */
import { blockIds, type Trace, type TraceRow } from './trace.ts';

export function writeExcerpt(trace: Trace): string {
  const numberOf = new Map<number, number>();
  const before = new Map<number, number[]>();
  let lastMs = 0;
  const lines = trace.rows.map((row) => {
    const ids = blockIds(row, trace.blockTokens);
    const parts = [base36(Math.round(row.atMs) - lastMs)];
    lastMs = Math.round(row.atMs);
    parts.push(base36(row.inputTokens), base36(row.outputTokens));
    parts.push(row.session < 0 ? '-' : base36(row.session));
    let at = commonLength(before.get(row.session) ?? [], ids);
    if (at > 0) parts.push(`~${base36(at)}`);
    while (at < ids.length) {
      const from = at;
      if (numberOf.has(ids[at]!)) {
        const first = numberOf.get(ids[at]!)!;
        while (at < ids.length && numberOf.get(ids[at]!) === first + at - from) at++;
        parts.push(`${base36(first)}.${base36(at - from)}`);
      } else {
        while (at < ids.length && !numberOf.has(ids[at]!)) numberOf.set(ids[at++]!, numberOf.size);
        parts.push(`+${base36(at - from)}`);
      }
    }
    if (row.session >= 0) before.set(row.session, ids);
    return parts.join(' ');
  });
  const { name, source, license, blockTokens, spanMs } = trace;
  const global = trace.global.map((id) => numberOf.get(id)).filter((id) => id !== undefined);
  const header = { trace: name, source, license, blockTokens, global, spanMs: Math.round(spanMs) };
  return `${[JSON.stringify(header), ...lines].join('\n')}\n`;
}

export function readExcerpt(text: string): Trace {
  const [first, ...lines] = text.trimEnd().split('\n');
  const { trace, ...header } = JSON.parse(first!);
  const before = new Map<number, number[]>();
  let nextNumber = 0;
  let atMs = 0;
  const rows: TraceRow[] = lines.map((line) => {
    const [elapsed, input, output, session, ...parts] = line.split(' ');
    atMs += parse36(elapsed!);
    const known = session === '-' ? -1 : parse36(session!);
    const runs: number[] = [];
    for (const part of parts) {
      if (part.startsWith('~')) {
        runs.push(...firstOf(before.get(known) ?? [], parse36(part.slice(1))));
      } else if (part.startsWith('+')) {
        const count = parse36(part.slice(1));
        runs.push(nextNumber, count);
        nextNumber += count;
      } else {
        runs.push(...part.split('.').map(parse36));
      }
    }
    if (known >= 0) before.set(known, runs);
    return {
      atMs,
      inputTokens: parse36(input!),
      outputTokens: parse36(output!),
      session: known,
      runs,
    };
  });
  return { name: trace, ...header, rows };
}

/** Every so many-th session; of requests without one, every so many-th. */
export function thinned(trace: Trace, every: number): Trace {
  const rows = trace.rows.filter(({ session }, i) => (session < 0 ? i : session) % every === 0);
  return { ...trace, rows };
}

function firstOf(runs: readonly number[], blocks: number): number[] {
  const first: number[] = [];
  for (let run = 0, left = blocks; left > 0 && run < runs.length; run += 2) {
    const count = Math.min(left, runs[run + 1]!);
    first.push(runs[run]!, count);
    left -= count;
  }
  return first;
}

function commonLength(a: readonly number[], b: readonly number[]): number {
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at++;
  return at;
}

function base36(value: number): string {
  return value.toString(36);
}

function parse36(text: string): number {
  return Number.parseInt(text, 36);
}
