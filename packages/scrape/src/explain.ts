/**
 * How a page was read, for people: every number with the series it came from, or why it is
 * unknown. Follows a reading and changes nothing.
 */
import { type MetricName, metric, metricNames, type RankNumbers, reasonName } from '@leadsman/wire';
import type {
  CompiledProfile,
  CompiledSelector,
  CompiledSignal,
  CompiledSource,
} from './engine/compile.ts';
import type { NearEngine } from './engine/near.ts';
import { finding, type PageOutcome, type Reading } from './engine/reading.ts';
import { lineBytesMax, loss, type Samples } from './exposition/samples.ts';

export interface ExplainedNumber {
  metric: MetricName;
  /** `undefined`: unknown. */
  value: number | undefined;
  /** The series it was read from, or would be. */
  from: string;
  /** Why it is unknown; empty when it is known. */
  why: string;
}

export interface Explanation {
  engine: string;
  title: string;
  /** `ok`, or the reason for which the page gives no numbers. */
  outcome: string;
  detail: string;
  bytes: number;
  series: number;
  invalidSamples: number;
  malformedLines: number;
  droppedSamples: number;
  models: readonly string[];
  loraRunning: readonly string[] | undefined;
  loraWaiting: readonly string[] | undefined;
  sleeping: boolean;
  engineRanks: number;
  ranks: readonly RankNumbers[];
  numbers: readonly ExplainedNumber[];
  /** Sample names of the profile on the page, with the number of their series. */
  familiesFound: readonly { name: string; series: number }[];
  /** Sample names of the profile that are not on the page, other spellings left out. */
  familiesMissing: readonly string[];
  /** Engines that a page of an unknown engine comes close to; empty when the engine is known. */
  near: readonly NearEngine[];
}

/** Values of unusable series that are quoted. */
const quotedMax = 3;

/** Explains what `outcome`, read from `samples` by `compiled`, is made of. */
export function explainPage(
  compiled: CompiledProfile,
  samples: Samples,
  outcome: PageOutcome,
): Explanation {
  const reading = 'reading' in outcome ? outcome.reading : undefined;
  const counts = new Map<string, number>();
  for (let i = 0; i < samples.count; i++) {
    const name = nameOf(compiled, samples, i);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return {
    engine: compiled.profile.name,
    title: compiled.profile.title,
    outcome: 'reason' in outcome ? reasonName(outcome.reason) : 'ok',
    detail: 'reason' in outcome ? outcome.detail : '',
    bytes: samples.bytes.length,
    series: samples.count,
    invalidSamples: reading?.invalidSamples ?? 0,
    malformedLines: samples.malformedLines,
    droppedSamples: samples.droppedSamples,
    models: reading?.models ?? [],
    loraRunning: reading?.loraRunning,
    loraWaiting: reading?.loraWaiting,
    sleeping: reading?.sleeping ?? false,
    engineRanks: reading?.engineRanks ?? 0,
    ranks: (reading?.ranks ?? []).toSorted((left, right) => left.rank - right.rank),
    numbers: compiled.signals.flatMap((signal) =>
      explainSignal(compiled, samples, signal, reading),
    ),
    familiesFound: [...counts].map(([name, series]) => ({ name, series })),
    familiesMissing: ownFamilies(compiled).filter((name) => !counts.has(name)),
    near: [],
  };
}

function explainSignal(
  compiled: CompiledProfile,
  samples: Samples,
  signal: CompiledSignal,
  reading: Reading | undefined,
): ExplainedNumber[] {
  const explained = (index: number): ExplainedNumber => {
    const value = reading?.metrics[index] ?? Number.NaN;
    const known = reading?.findings[index] === finding.known;
    const candidates = ownSources(compiled, signal).join(', or ');
    return {
      metric: metricNames[index] as MetricName,
      value: known ? value : undefined,
      from: reading?.families[index] ?? candidates,
      why: known ? '' : whyUnknown(compiled, samples, signal),
    };
  };
  const twin = signal.metric === metric.kvCacheUsageRatio;
  return [signal.metric, ...(twin ? [metric.kvCacheUsageMaxRatio] : [])].map(explained);
}

function whyUnknown(compiled: CompiledProfile, samples: Samples, signal: CompiledSignal): string {
  const selectors = signal.sources.flatMap(selectorsOf);
  const lost = selectors.find(({ cells }) => cells.lost);
  if (lost !== undefined) return `${lost.family}: ${lossText(samples.lost[lost.name] ?? 0)}`;
  const unusable = selectors.find(({ cells }) => cells.invalid > 0);
  if (unusable !== undefined) {
    if (unusable.label !== undefined) return `label ${unusable.label} states no number`;
    const values: string[] = [];
    for (let i = 0; i < samples.count && values.length < quotedMax; i++) {
      if (nameOf(compiled, samples, i) === unusable.family) values.push(`${samples.value[i]}`);
    }
    return `${unusable.family} has no usable number: ${values.join(', ')}`;
  }
  const overflow = selectors.find(({ cells }) => cells.overflow);
  if (overflow !== undefined) return `${overflow.family} has too many series`;
  // Of a source made of two families, what is on the page is not what is missing.
  const partly = signal.sources.find((source) => selectorsOf(source).some(hasSeries));
  const missing = (partly === undefined ? selectors : selectorsOf(partly)).filter(
    (selector) => !hasSeries(selector),
  );
  const declared = missing.find(({ family }) => isDeclared(samples, family));
  if (declared !== undefined) return `${declared.family} has HELP or TYPE, but no such sample`;
  if (partly === undefined) return 'no such series';
  const [absent] = missing;
  if (absent !== undefined) return `no series of ${absent.family}`;
  return partly.op === 'value' ? 'a rank has no such series' : 'no possible number';
}

function lossText(lost: number): string {
  const why: string[] = [];
  if ((lost & loss.malformed) !== 0) why.push('a line is malformed');
  if ((lost & loss.tooLong) !== 0) why.push(`a line is longer than ${lineBytesMax} bytes`);
  if ((lost & loss.tooMany) !== 0) why.push('there are too many series');
  return why.join(', ');
}

function hasSeries({ cells }: CompiledSelector): boolean {
  return cells.series > 0;
}

/** Whether the page has a TYPE or HELP line for the family of `name`. */
function isDeclared(samples: Samples, name: string): boolean {
  const text =
    samples.bytes.includes(`# TYPE ${name} `) || samples.bytes.includes(`# HELP ${name} `);
  const family = name.replace(/_(?:sum|count|total)$/, '');
  return text || samples.bytes.includes(`# TYPE ${family} `);
}

function nameOf(compiled: CompiledProfile, samples: Samples, i: number): string {
  return compiled.names.names[samples.name[i] as number] ?? '';
}

/** Sample names in the profile's own spelling, in its order. */
function ownFamilies(compiled: CompiledProfile): string[] {
  const { profile } = compiled;
  const names = compiled.selectors.map(({ family }) => family);
  if (profile.lora !== undefined) names.push(profile.lora.family);
  if (profile.sleep !== undefined) names.push(profile.sleep.family);
  const others = (profile.aliases ?? []).map(([, to]) => to);
  const own = profile.prefix ?? '';
  const isOwn = (name: string) => name.startsWith(own) || !others.some((to) => name.startsWith(to));
  return [...new Set(names)].filter(isOwn);
}

function ownSources(compiled: CompiledProfile, signal: CompiledSignal): string[] {
  const own = new Set(ownFamilies(compiled));
  return signal.sources
    .filter((source) => selectorsOf(source).every(({ family }) => own.has(family)))
    .map(({ text }) => text);
}

function selectorsOf({ first, second }: CompiledSource): CompiledSelector[] {
  return second === undefined ? [first] : [first, second];
}
