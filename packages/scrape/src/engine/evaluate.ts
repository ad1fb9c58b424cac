/**
 * Reads a parsed page by a compiled profile.
 *
 * Cost: the labels of each wanted sample are walked once; then each signal looks at the first of
 * its sources that has a usable series. Scratch memory (the cells) lives in the compiled profile
 * and is reused, so one profile is evaluated by one caller at a time; a reading is fresh.
 */
import { metric, metricNames, ranksMax } from '@leadsman/wire';
import { LabelCursor } from '../exposition/label-cursor.ts';
import type { Samples } from '../exposition/samples.ts';
import { emptyReading, finding, type Reading } from '../reading.ts';
import { Cells, noRank } from './cells.ts';
import type {
  CompiledProfile,
  CompiledSelector,
  CompiledSignal,
  CompiledSource,
} from './compile.ts';
import { applyLora } from './lora.ts';
import type { EngineProfile } from './profile.ts';
import { applySleep } from './sleep.ts';
import { addsParts, soundValue } from './unit.ts';

/** Model names of one page; one server serves a handful. */
const modelsMax = 64;

/** The reading of `samples`, which were parsed with `compiled.names`. */
export function evaluate(compiled: CompiledProfile, samples: Samples): Reading {
  const reading = emptyReading(compiled.profile.name);
  reading.malformedLines = samples.malformedLines;
  reading.droppedSamples = samples.droppedSamples;
  reading.series = samples.count;
  for (const selector of compiled.selectors) selector.cells.reset();
  distribute(compiled, samples, reading);
  const capacity = capacityCells(compiled);
  for (const signal of compiled.signals) applySignal(signal, capacity, reading);
  for (const { cells } of compiled.progress) {
    let sum = cells.values.length === 0 ? Number.NaN : 0;
    for (const value of cells.values) sum += value;
    reading.progress.push(sum);
  }
  applyLora(compiled, samples, reading);
  applySleep(compiled, samples, reading);
  return reading;
}

/** What the labels of one set say, by set; grown as needed and reused. */
let rankOfSet = new Int32Array(64);
let partOfSet = new Uint32Array(64);
const cursor = new LabelCursor();

/** The rank of sets whose series are parts of a total, and so are left out. */
const partOfTotal = -2;

function distribute(compiled: CompiledProfile, samples: Samples, reading: Reading): void {
  readSets(compiled.profile, samples, reading);
  for (let i = 0; i < samples.count; i++) {
    const set = samples.set[i] as number;
    const rank = set < 0 ? noRank : (rankOfSet[set] as number);
    if (rank === partOfTotal) continue;
    const part = set < 0 ? 0 : (partOfSet[set] as number);
    let unusable = false;
    for (const selector of compiled.selectorsOfName[samples.name[i] as number] ?? []) {
      if (!matches(selector, samples, set)) continue;
      const value = numberOf(selector, samples, i);
      const sound = selector.unit === undefined ? value : soundValue(selector.unit, value);
      selector.cells.add(rank, part, sound);
      // A label that states no number ("None") is the engine's way to say unknown, no fault.
      if (Number.isNaN(sound) && selector.unit !== undefined && selector.label === undefined) {
        unusable = true;
      }
    }
    if (unusable) reading.invalidSamples++;
  }
}

/** Works out rank and part of each label set, and notes the models. */
function readSets(profile: EngineProfile, samples: Samples, reading: Reading): void {
  if (samples.setCount > rankOfSet.length) {
    rankOfSet = new Int32Array(samples.setFrom.length);
    partOfSet = new Uint32Array(samples.setFrom.length);
  }
  let modelHash = -1;
  for (let set = 0; set < samples.setCount; set++) {
    let rank = noRank;
    let part = 0;
    cursor.start(samples, set);
    while (cursor.next()) {
      if (isReplicaLabel(profile)) continue;
      if (profile.partLabel !== undefined && cursor.keyIs(profile.partLabel)) {
        if (!cursor.isEmpty) rank = partOfTotal;
        continue;
      }
      if (profile.rankLabel !== undefined && cursor.keyIs(profile.rankLabel)) {
        const stated = cursor.integer();
        if (stated >= 0) {
          if (rank !== partOfTotal) rank = stated;
          continue;
        }
      }
      const hash = cursor.hash();
      // A sum does not depend on the labels' order, which may differ between series.
      part = (part + hash) >>> 0;
      if (hash !== modelHash && isModelLabel(profile)) {
        modelHash = hash;
        addModel(cursor.value(), reading.models);
      }
    }
    rankOfSet[set] = rank;
    partOfSet[set] = part;
  }
}

function addModel(name: string, models: string[]): void {
  if (name !== '' && models.length < modelsMax && !models.includes(name)) models.push(name);
}

function isReplicaLabel(profile: EngineProfile): boolean {
  if (profile.rankLabel !== undefined && cursor.keyIs(profile.rankLabel)) return false;
  for (const label of profile.replicaLabels ?? []) if (cursor.keyIs(label)) return true;
  return profile.replicaLabelSuffix !== undefined && cursor.keyEndsWith(profile.replicaLabelSuffix);
}

function isModelLabel(profile: EngineProfile): boolean {
  for (const label of profile.modelLabels) if (cursor.keyIs(label)) return true;
  return false;
}

function matches(selector: CompiledSelector, samples: Samples, set: number): boolean {
  for (const [key, value] of selector.where) {
    if (!cursor.seek(samples, set, key) || cursor.value() !== value) return false;
  }
  return true;
}

function numberOf(selector: CompiledSelector, samples: Samples, i: number): number {
  if (selector.label === undefined) return (samples.value[i] as number) * selector.scale;
  const found = cursor.seek(samples, samples.set[i] as number, selector.label);
  return found ? cursor.number() * selector.scale : Number.NaN;
}

/** The first source with a usable number in each of its selectors, put together rank by rank. */
function resolve(signal: CompiledSignal): { cells: Cells; source: CompiledSource } | undefined {
  for (const source of signal.sources) {
    const [first, second] = source.selectors as [CompiledSelector, CompiledSelector?];
    if (!first.cells.usable || (second !== undefined && !second.cells.usable)) continue;
    first.cells.fold(addsParts(first.unit ?? 'total'));
    if (second === undefined) return { cells: first.cells, source };
    second.cells.fold(addsParts(second.unit ?? 'total'));
    const put = new Cells();
    for (const [at, rank] of first.cells.rankIds.entries()) {
      const left = first.cells.rankValues[at] as number;
      const right = second.cells.ofRank(rank);
      const value = source.op === 'divide' ? left / right : left * right;
      put.add(rank, 0, soundValue(signal.unit, value));
    }
    put.fold(true);
    return { cells: put, source };
  }
  return undefined;
}

function capacityCells(compiled: CompiledProfile): Cells | undefined {
  const signal = compiled.signals.find((one) => one.metric === metric.kvCacheCapacityTokens);
  return signal && resolve(signal)?.cells;
}

function applySignal(signal: CompiledSignal, capacity: Cells | undefined, reading: Reading): void {
  const found = resolve(signal);
  if (found === undefined) {
    const tried = signal.sources.find(({ selectors }) =>
      selectors.every(({ cells }) => cells.series > 0),
    );
    note(signal.metric, tried, tried === undefined ? finding.absent : finding.invalid, reading);
    return;
  }
  const { cells, source } = found;
  const value = total(signal, cells, capacity);
  reading.metrics[signal.metric] = value;
  note(signal.metric, source, Number.isNaN(value) ? finding.invalid : finding.known, reading);
  if (signal.metric === metric.kvCacheUsageRatio) {
    const fullest = largest(cells);
    reading.metrics[metric.kvCacheUsageMaxRatio] = fullest;
    const known = Number.isNaN(fullest) ? finding.invalid : finding.known;
    note(metric.kvCacheUsageMaxRatio, source, known, reading);
  }
  if (isRankMetric(signal.metric)) addRanks(signal.metric, cells, reading);
}

function note(
  index: number,
  source: CompiledSource | undefined,
  found: number,
  reading: Reading,
): void {
  reading.findings[index] = found;
  reading.families[index] = source?.text;
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
    const weight = capacity === undefined ? Number.NaN : capacity.ofRank(rank);
    weights += weight;
    weighted += weight * value;
    plain += value;
  }
  const mean = weights > 0 ? weighted / weights : plain / cells.rankIds.length;
  // Rounding may lift the mean of full ranks a hair above 1.
  return Math.min(1, mean);
}

function isRankMetric(index: number): boolean {
  return (
    index === metric.runningRequests ||
    index === metric.waitingRequests ||
    index === metric.kvCacheUsageRatio
  );
}

const rankField = {
  [metricNames[metric.runningRequests] as string]: 'runningRequests',
  [metricNames[metric.waitingRequests] as string]: 'waitingRequests',
  [metricNames[metric.kvCacheUsageRatio] as string]: 'kvCacheUsageRatio',
} as const;

function addRanks(index: number, cells: Cells, reading: Reading): void {
  const field = rankField[metricNames[index] as string] as
    | 'runningRequests'
    | 'waitingRequests'
    | 'kvCacheUsageRatio';
  for (const [at, id] of cells.rankIds.entries()) {
    const rank = Math.max(0, id);
    let row = reading.ranks.find((one) => one.rank === rank);
    if (row === undefined) {
      reading.engineRanks = Math.max(reading.engineRanks, reading.ranks.length + 1);
      if (reading.ranks.length === ranksMax) continue;
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
