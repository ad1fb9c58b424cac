/** An explanation as text for a person, and as JSON for a program. */
import type { Explanation, VersionOutcome } from '@leadsman/scrape';
import type { Ways } from './explain-ways.ts';

export interface Found extends Explanation {
  /** Whether the engine was found by the page, not told. */
  found: boolean;
  /** What the engine says of its version; `undefined`: it was not asked. */
  version: VersionOutcome | undefined;
  /** How a sidecar would ask this engine; `undefined`: it was not tried. */
  ways: Ways | undefined;
}

/** One JSON object and a line feed. Unknown is `null`. */
export function explanationJson(explanation: Found): string {
  const { loraRunning, loraWaiting, version, ways, ...rest } = explanation;
  const json = {
    ...rest,
    engineVersion: version !== undefined && 'version' in version ? version.version : null,
    engineVersionDetail: version === undefined ? null : versionDetail(version),
    scrapes: ways === undefined ? null : { ...ways, whyNotByName: ways.whyNotByName || null },
    loraRunning: loraRunning ?? null,
    loraWaiting: loraWaiting ?? null,
    numbers: explanation.numbers.map((number) => ({ ...number, value: number.value ?? null })),
  };
  // JSON has no NaN; stringify makes it null, which is what unknown is here.
  return `${JSON.stringify(json)}\n`;
}

/** Names quoted per engine, and engines. */
const quotedMax = 6;

const howToName = `Name the engine if you know it: here by --engine NAME, in a sidecar by --engine or LEADSMAN_ENGINE,
on a pod by the annotation leadsman.dev/engine. Where that would read too little, say which series
give which number in a mapping: here by --mapping FILE, in a sidecar by --engine-mapping-file.
docs/engines.md explains both.
`;

export function explanationText(explanation: Found): string {
  const blocks = [head(explanation)];
  if (explanation.numbers.length > 0 && explanation.outcome === 'ok') {
    blocks.push(numbers(explanation));
    if (explanation.ranks.length > 1) blocks.push(ranks(explanation));
    blocks.push(families(explanation));
  }
  if (explanation.engine === 'unknown' && explanation.outcome === 'no_series') {
    if (explanation.near.length > 0) blocks.push(near(explanation));
    blocks.push(howToName);
  }
  return `${blocks.join('\n')}\n`;
}

function head(explanation: Found): string {
  const { title, engine, found, outcome, detail, bytes, series } = explanation;
  const how = found ? 'found by its series' : 'as told';
  const rows: string[][] = [
    [
      'engine',
      outcome === 'ok' || engine !== 'unknown' ? `${title} (${engine}, ${how})` : 'unknown',
    ],
    ['outcome', detail === '' ? outcome : `${outcome}: ${detail}`],
    ['page', `${bytes} bytes, ${series} series read`],
    ['faults', faults(explanation)],
  ];
  if (outcome === 'ok') {
    if (explanation.version !== undefined) rows.push(['version', version(explanation.version)]);
    if (explanation.ways !== undefined) rows.push(['scrapes', scrapes(explanation.ways)]);
    rows.push(['models', explanation.models.join(', ') || 'not stated']);
    rows.push(['ranks', String(explanation.engineRanks)]);
    rows.push(['LoRA', lora(explanation)]);
    if (explanation.sleeping) rows.push(['state', 'every rank sleeps']);
  }
  return table(rows);
}

function version(outcome: VersionOutcome): string {
  const detail = versionDetail(outcome);
  return 'why' in outcome ? `unknown: ${detail}` : `${outcome.version} (${detail})`;
}

function scrapes(ways: Ways): string {
  const { wholeBytes, wholeMs, byNameBytes, byNameMs } = ways;
  const whole = `${wholeBytes} bytes in ${milliseconds(wholeMs)}`;
  if (ways.way === 'whole') return `of the whole page (${whole}); ${ways.whyNotByName}`;
  const byName = `${byNameBytes} bytes in ${milliseconds(byNameMs)}`;
  const saved = `${percent(byNameBytes, wholeBytes)} of the bytes, ${percent(byNameMs, wholeMs)} of the time`;
  return `by name: ${byName}, instead of ${whole} (saved: ${saved})`;
}

function milliseconds(ms: number): string {
  return `${Number(ms.toPrecision(2))} ms`;
}

function percent(part: number, whole: number): string {
  return `${Math.round(100 * Math.max(0, 1 - part / whole))} %`;
}

/** The URL that told it, or why it is unknown. */
function versionDetail(outcome: VersionOutcome): string {
  return 'why' in outcome ? outcome.why : outcome.from;
}

function faults(explanation: Found): string {
  const { invalidSamples, malformedLines, droppedSamples } = explanation;
  if (invalidSamples + malformedLines + droppedSamples === 0) return 'none';
  return [
    `${invalidSamples} unusable numbers`,
    `${malformedLines} malformed lines`,
    `${droppedSamples} samples beyond a bound`,
  ].join(', ');
}

function lora({ loraRunning, loraWaiting }: Found): string {
  if (loraRunning === undefined) return 'not stated';
  const running = loraRunning.join(', ') || 'none';
  return `running ${running}; waiting ${loraWaiting?.join(', ') || 'none'}`;
}

function numbers(explanation: Found): string {
  const rows = explanation.numbers.map(({ metric, value, from, why }) => [
    metric,
    value === undefined ? 'unknown' : format(value),
    why === '' ? from : `${why} (${from})`,
  ]);
  return table([['NUMBER', 'VALUE', 'FROM, OR WHY NOT'], ...rows]);
}

function ranks(explanation: Found): string {
  const rows = explanation.ranks.map((rank) => [
    String(rank.rank),
    format(rank.runningRequests),
    format(rank.waitingRequests),
    format(rank.kvCacheUsageRatio),
  ]);
  return table([['RANK', 'RUNNING', 'WAITING', 'KV USAGE'], ...rows]);
}

function families({ familiesFound, familiesMissing }: Found): string {
  const found = familiesFound.map(({ name, series }) => `${name} (${series})`);
  return [
    'FOUND, WITH THE NUMBER OF SERIES',
    ...found.map((name) => `  ${name}`),
    'NOT ON THE PAGE',
    ...(familiesMissing.length === 0 ? ['none'] : familiesMissing).map((name) => `  ${name}`),
    '',
  ].join('\n');
}

function near({ near: engines }: Found): string {
  const rows = engines.slice(0, quotedMax).map(({ engine, readable, families: names }) => {
    const rest = names.length > quotedMax ? `, and ${names.length - quotedMax} more` : '';
    return [engine, String(readable), names.slice(0, quotedMax).join(', ') + rest];
  });
  return table([['COMES CLOSE', 'SERIES READ WHEN NAMED', 'NAMES ALIKE ON THE PAGE'], ...rows]);
}

function format(value: number): string {
  if (Number.isNaN(value)) return 'unknown';
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}
