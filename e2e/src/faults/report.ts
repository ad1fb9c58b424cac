/** The fault table as a document and as lines. */
import { allowed, breachOf, type Outcome } from './cell.ts';

const partNames: Record<Outcome['part'], string> = {
  sidecar: 'a sidecar',
  agent: 'a node agent',
  nats: 'NATS',
  collector: "a picker's collector process",
  picker: "a picker's main process",
  replica: 'a picker, all its processes',
  worker: 'one worker of a picker',
  engine: 'an engine',
};

const columns = [
  'lost',
  'by',
  'requests',
  'failed',
  'may fail',
  'above 1 s',
  'slowest, ms',
  'oldest numbers, ms',
  'oldest believed, ms',
  'whole after, ms',
  'within the bound',
] as const;

/** The table in Markdown, a row per outcome. */
export function tableOf(outcomes: readonly Outcome[]): string {
  const rows = outcomes.map((outcome) => rowOf(outcome));
  const rule = columns.map((_, i) => (i < 2 || i === columns.length - 1 ? '---' : '---:'));
  return [columns, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function rowOf(outcome: Outcome): string[] {
  const { part, fault, requests, failed, heldByEngine } = outcome;
  const held = part === 'engine' ? ` + ${heldByEngine} held` : '';
  return [
    ...[partNames[part], fault === 'SIGSTOP' ? 'SIGSTOP 15 s' : fault],
    ...[String(requests), String(failed), `${allowed(outcome)}${held}`, String(outcome.slow)],
    ...[outcome.slowestMs, outcome.oldestMs, outcome.oldestFreshMs, outcome.wholeMs].map(rounded),
    breachOf(outcome) ?? 'yes',
  ];
}

function rounded(ms: number): string {
  return Number.isNaN(ms) ? '–' : String(Math.round(ms));
}

const begin = '<!-- table: npm run test:faults -->';
const end = '<!-- end of table -->';

/** The document with another table between its marks. Throws when it has no marks. */
export function withTable(document: string, table: string): string {
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the document has no ${begin} … ${end}`);
  return `${document.slice(0, from + begin.length)}\n\n${table}\n\n${document.slice(to)}`;
}
