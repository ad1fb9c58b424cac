/** Which endpoints `top` shows, and in which order. */
import type { EndpointRow } from './fleet.ts';

/** What can be sorted by, in the order in which keys walk through them. */
export const sortKeys = [
  'trouble',
  'name',
  'age',
  'running',
  'waiting',
  'kv',
  'flight',
  'picks',
] as const;

export type SortKey = (typeof sortKeys)[number];

export interface View {
  sort: SortKey;
  reverse: boolean;
  /**
   * Words that a row must all contain in its pool, name, address, node, engine, models, state or
   * reason; a word after `!` must not be there.
   */
  filter: string;
}

/** Worst first: what needs an operator before what is merely old. */
const trouble = ['unreachable', 'suspect', 'unknown', 'stale', 'sleeping', 'fresh'];

const byName = new Intl.Collator('en', { numeric: true });

const numbers: Readonly<Record<string, (row: EndpointRow) => number | null>> = {
  age: (row) => row.ageMs,
  running: (row) => row.running,
  waiting: (row) => row.waiting,
  kv: (row) => row.kvUsage,
  flight: (row) => row.inFlight,
  picks: (row) => row.picksPerS,
};

/** A new list. Numbers go from large to small, and what is unknown comes last in either direction. */
export function ordered(rows: readonly EndpointRow[], view: View): EndpointRow[] {
  const shown = rows.filter(matcher(view.filter));
  const sign = view.reverse ? -1 : 1;
  const number = numbers[view.sort];
  const compare = (a: EndpointRow, b: EndpointRow): number => {
    if (number !== undefined) return byNumber(number(a), number(b), sign);
    if (view.sort === 'name') return sign * byName.compare(a.name, b.name);
    const rank = trouble.indexOf(a.state) - trouble.indexOf(b.state);
    return (
      sign * rank || byNumber(a.waiting, b.waiting, sign) || byNumber(a.running, b.running, sign)
    );
  };
  return shown.sort((a, b) => compare(a, b) || byName.compare(a.name, b.name));
}

function byNumber(a: number | null, b: number | null, sign: number): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return sign * (b - a);
}

function matcher(filter: string): (row: EndpointRow) => boolean {
  const words = filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '' && word !== '!');
  return (row) => {
    const { pool, name, destination, namespace, node, engine, models, state, reason } = row;
    const text = [pool, name, destination, namespace, node, engine, ...models, state, reason]
      .join('\n')
      .toLowerCase();
    return words.every((word) =>
      word.startsWith('!') ? !text.includes(word.slice(1)) : text.includes(word),
    );
  };
}
