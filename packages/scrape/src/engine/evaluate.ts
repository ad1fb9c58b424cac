/**
 * Reads a parsed page by a compiled profile.
 *
 * Cost: the labels of each wanted sample are walked once; then each signal looks at the first of
 * its sources that has a usable series. Scratch memory (the cells) lives in the compiled profile
 * and is reused, so one profile is evaluated by one caller at a time; a reading is fresh.
 */
import { metric, ranksMax } from '@leadsman/wire';
import type { Samples } from '../exposition/samples.ts';
import type { Cells } from './cells.ts';
import type {
  CompiledProfile,
  CompiledSelector,
  CompiledSignal,
  CompiledSource,
} from './compile.ts';
import { LabelSets, noRank, partOfTotal } from './label-sets.ts';
import { applyLora } from './lora.ts';
import { emptyReading, finding, type Reading } from './reading.ts';
import { applySleep } from './sleep.ts';
import { addsParts, soundValue } from './unit.ts';

const sets = new LabelSets();

/** The reading of `samples`, which were parsed with `compiled.names`. */
export function evaluate(compiled: CompiledProfile, samples: Samples): Reading {
  const reading = emptyReading(compiled.profile.name);
  reading.malformedLines = samples.malformedLines;
  reading.droppedSamples = samples.droppedSamples;
  reading.invalidSamples = samples.timelessSamples;
  reading.series = samples.count;
  for (const { cells, name } of compiled.selectors) {
    cells.reset();
    cells.lost = samples.lost[name] !== 0;
  }
  sets.read(compiled.profile, samples, reading.models);
  reading.unknownRankLabels = sets.unknownRankLabels;
  distribute(compiled, samples, reading);
  const { capacity } = compiled;
  const weights = capacity === undefined ? undefined : resolve(capacity);
  for (const signal of compiled.signals) {
    const source = signal === capacity ? weights : resolve(signal);
    if (source === undefined) noteUnknown(signal, reading);
    else applySource(signal, source, weights?.cells, reading);
  }
  for (const signal of compiled.signals) blankPartial(signal, reading);
  for (const { cells } of compiled.progress) reading.progress.push(cells.sum);
  applyLora(compiled, samples, reading);
  applySleep(compiled, samples, reading);
  return reading;
}

function distribute(compiled: CompiledProfile, samples: Samples, reading: Reading): void {
  for (let i = 0; i < samples.count; i++) {
    const set = samples.set[i] as number;
    const rank = sets.rankOf(set);
    if (rank === partOfTotal) continue;
    let unusable = false;
    for (const selector of compiled.selectorsOfName[samples.name[i] as number] ?? []) {
      if (!matches(selector, set)) continue;
      const value = numberOf(selector, set, samples.value[i] as number);
      const sound = selector.unit === undefined ? value : soundValue(selector.unit, value);
      selector.cells.add(rank, set, sound, sets);
      // A label that states no number ("None") is the engine's way to say unknown, no fault.
      if (Number.isNaN(sound) && selector.unit !== undefined && selector.label === undefined) {
        unusable = true;
      }
    }
    if (unusable) reading.invalidSamples++;
  }
}

function matches(selector: CompiledSelector, set: number): boolean {
  for (const [key, value] of selector.where) {
    if (!sets.seek(set, key) || sets.cursor.value() !== value) return false;
  }
  return true;
}

function numberOf(selector: CompiledSelector, set: number, value: number): number {
  if (selector.label === undefined) return value * selector.scale;
  return sets.seek(set, selector.label) ? sets.cursor.number() * selector.scale : Number.NaN;
}

/** The first source with a usable number in each of its selectors, put together rank by rank. */
function resolve(signal: CompiledSignal): CompiledSource | undefined {
  for (const source of signal.sources) {
    const { first, second, cells } = source;
    if (!isThere(source)) continue;
    first.cells.fold(addsParts(first.unit ?? 'total'));
    if (second === undefined) return source;
    cells.lost = isLost(source);
    second.cells.fold(addsParts(second.unit ?? 'total'));
    cells.rankIds.length = 0;
    cells.rankValues.length = 0;
    // A capacity may be stated once for all ranks; a queue counted for each would be counted twice.
    const withoutRank = source.op === 'add' ? Number.NaN : noRank;
    for (const [at, rank] of first.cells.rankIds.entries()) {
      const left = first.cells.rankValues[at] as number;
      const right = second.cells.ofRank(rank, withoutRank);
      cells.rankIds.push(rank);
      cells.rankValues.push(soundValue(signal.unit, operate(source.op, left, right)));
    }
    if (source.eachStatesTotal) shareTotal(cells);
    return source;
  }
  return undefined;
}

/**
 * Whether the page has what the source needs. Of a sum, a series is enough: without a usable
 * number the sum is unknown, as one operand alone would be too little.
 */
function isThere(source: CompiledSource): boolean {
  const { op, first, second } = source;
  // A family of which lines are missing is on the page: an older name must not speak for it.
  if (isLost(source)) return true;
  if (second === undefined) return first.cells.usable;
  if (op === 'add' || op === 'max') return first.cells.series > 0 && second.cells.series > 0;
  return first.cells.usable && second.cells.usable;
}

function isLost({ first, second }: CompiledSource): boolean {
  return first.cells.lost || second?.cells.lost === true;
}

/** Ranks that all state the same total have an equal share of it each. */
function shareTotal(cells: Cells): void {
  const { rankIds, rankValues } = cells;
  const [first] = rankValues;
  if (rankIds.length < 2 || rankValues.some((value) => value !== first)) return;
  for (let i = 0; i < rankValues.length; i++) rankValues[i]! /= rankIds.length;
}

function operate(op: CompiledSource['op'], left: number, right: number): number {
  if (op === 'add') return left + right;
  if (op === 'max') return Math.max(left, right);
  return op === 'divide' ? left / right : left * right;
}

function noteUnknown(signal: CompiledSignal, reading: Reading): void {
  for (const source of signal.sources) {
    if (source.first.cells.series === 0 || source.second?.cells.series === 0) continue;
    note(signal.metric, source, finding.invalid, reading);
    return;
  }
}

function applySource(
  signal: CompiledSignal,
  source: CompiledSource,
  weights: Cells | undefined,
  reading: Reading,
): void {
  const { cells } = source;
  const lost = isLost(source);
  applyNumber(signal.metric, source, lost ? Number.NaN : total(signal, cells, weights), reading);
  if (signal.metric === metric.kvCacheUsageRatio) {
    const fullest = lost ? Number.NaN : largest(cells);
    applyNumber(metric.kvCacheUsageMaxRatio, source, fullest, reading);
  }
  const field = rankField(signal.metric);
  if (field !== undefined) addRanks(field, cells, reading);
}

function applyNumber(index: number, source: CompiledSource, value: number, reading: Reading): void {
  reading.metrics[index] = value;
  const unknown = isLost(source) ? finding.lost : finding.invalid;
  note(index, source, Number.isNaN(value) ? unknown : finding.known, reading);
}

function note(index: number, source: CompiledSource, found: number, reading: Reading): void {
  reading.findings[index] = found;
  reading.families[index] = source.text;
}

/** One number out of the ranks' numbers; unknown as soon as one rank's is. */
function total(signal: CompiledSignal, cells: Cells, capacity: Cells | undefined): number {
  if (signal.unit === 'size') return largest(cells);
  if (signal.unit === 'ratio') return weightedMean(cells, capacity);
  let sum = 0;
  for (const value of cells.rankValues) sum += value;
  return sum;
}

function largest(cells: Cells): number {
  let most = Number.NEGATIVE_INFINITY;
  for (const value of cells.rankValues) most = Math.max(most, value);
  return most;
}

/** Weighted by the ranks' capacities when all are known, else each rank counts the same. */
function weightedMean(cells: Cells, capacity: Cells | undefined): number {
  let weights = 0;
  let weighted = 0;
  let plain = 0;
  for (const [at, rank] of cells.rankIds.entries()) {
    const value = cells.rankValues[at] as number;
    const weight = capacity === undefined ? Number.NaN : capacity.ofRank(rank, noRank);
    weights += weight;
    weighted += weight * value;
    plain += value;
  }
  const mean = weights > 0 ? weighted / weights : plain / cells.rankIds.length;
  // Rounding may lift the mean of full ranks a hair above 1.
  return Math.min(1, mean);
}

/**
 * A rank that other families speak of and this one leaves out is unknown here, and so is what the
 * ranks amount to: without this it would count as idle.
 */
function blankPartial(signal: CompiledSignal, reading: Reading): void {
  const field = rankField(signal.metric);
  if (field === undefined || reading.findings[signal.metric] !== finding.known) return;
  const source = signal.sources.find(({ text }) => text === reading.families[signal.metric]);
  // A number for the whole engine belongs to no rank, and lacks none.
  if (source === undefined || source.cells.rankIds.includes(noRank)) return;
  if (!reading.ranks.some((rank) => Number.isNaN(rank[field]))) return;
  const indices = [signal.metric];
  if (signal.metric === metric.kvCacheUsageRatio) indices.push(metric.kvCacheUsageMaxRatio);
  for (const index of indices) {
    reading.metrics[index] = Number.NaN;
    reading.findings[index] = finding.invalid;
  }
}

type RankField = 'runningRequests' | 'waitingRequests' | 'kvCacheUsageRatio';

/** The field of a rank's row that a metric fills; `undefined` for those not kept by rank. */
function rankField(index: number): RankField | undefined {
  if (index === metric.runningRequests) return 'runningRequests';
  if (index === metric.waitingRequests) return 'waitingRequests';
  return index === metric.kvCacheUsageRatio ? 'kvCacheUsageRatio' : undefined;
}

function addRanks(field: RankField, cells: Cells, reading: Reading): void {
  for (const [at, id] of cells.rankIds.entries()) {
    const rank = Math.max(0, id);
    let row = reading.ranks.find((one) => one.rank === rank);
    if (row === undefined) {
      if (reading.ranks.length === ranksMax) continue;
      reading.engineRanks = reading.ranks.length + 1;
      row = {
        rank,
        runningRequests: Number.NaN,
        waitingRequests: Number.NaN,
        kvCacheUsageRatio: Number.NaN,
      };
      reading.ranks.push(row);
    }
    row[field] = cells.rankValues[at] as number;
  }
}
