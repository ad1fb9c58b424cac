/**
 * Turns a profile into the form the evaluator runs on: aliases spelled out, equal selectors
 * shared, names numbered. Done once per profile and process.
 */
import { type MetricUnit, metric, unitOfMetric } from '@leadsman/wire';
import { FamilyNames } from '../exposition/family-names.ts';
import { Cells } from './cells.ts';
import type { Alias, EngineProfile, Selector, Source } from './profile.ts';

export interface CompiledSelector {
  family: string;
  /** Index of the family among the names. */
  name: number;
  where: readonly (readonly [string, string])[];
  label: string | undefined;
  scale: number;
  /** `undefined`: only the movement matters, any number is sound. */
  unit: MetricUnit | undefined;
  cells: Cells;
}

export interface CompiledSource {
  op: 'value' | 'divide' | 'multiply' | 'add' | 'max';
  /** The families by name, for people: `a ÷ b`. */
  text: string;
  first: CompiledSelector;
  /** The other operand, unless the source is a plain value. */
  second: CompiledSelector | undefined;
  /** The numbers of the source: those of `first`, or what the operation gives. */
  cells: Cells;
  /** Every rank states what all ranks have together. */
  eachStatesTotal: boolean;
}

export interface CompiledSignal {
  metric: number;
  unit: MetricUnit;
  sources: readonly CompiledSource[];
}

export interface CompiledProfile {
  profile: EngineProfile;
  names: FamilyNames;
  /**
   * By name, for those that others spell alike: the labels that prove a series to be this
   * engine's. A name that is not here proves it by itself.
   */
  proofs: ReadonlyMap<string, readonly (readonly [string, string])[]>;
  /** By index of the name. */
  selectorsOfName: readonly (readonly CompiledSelector[])[];
  selectors: readonly CompiledSelector[];
  signals: readonly CompiledSignal[];
  /** The signal that weighs ranks against each other. */
  capacity: CompiledSignal | undefined;
  progress: readonly CompiledSelector[];
  /** Indices of names; empty when the profile has no such family. */
  loraNames: readonly number[];
  sleepNames: readonly number[];
}

/** Throws RangeError when a family is no metric name. */
export function compileProfile(profile: EngineProfile): CompiledProfile {
  const selectors: CompiledSelector[] = [];
  const spellings = (family: string): string[] => spellingsOf(family, profile.aliases ?? []);
  const select = (selector: Selector, unit: MetricUnit | undefined): CompiledSelector => {
    const compiled = {
      family: selector.family,
      name: -1,
      where: Object.entries(selector.where ?? {}),
      label: selector.label,
      scale: selector.scale ?? 1,
      unit,
      cells: new Cells(),
    };
    selectors.push(compiled);
    return compiled;
  };
  const signals = profile.signals.map((signal) => {
    const unit = unitOfMetric[signal.metric];
    const sources = signal.sources.flatMap((source) =>
      variants(source, spellings).map((variant) => compileSource(variant, unit, select)),
    );
    return { metric: metric[signal.metric], unit, sources };
  });
  const progress = (profile.progress ?? []).flatMap((selector) =>
    spellings(selector.family).map((family) => select({ ...selector, family }, undefined)),
  );
  const loraFamilies = profile.lora === undefined ? [] : spellings(profile.lora.family);
  const sleepFamilies = profile.sleep === undefined ? [] : spellings(profile.sleep.family);
  const families = selectors.map((selector) => selector.family);
  const unique = [...new Set([...families, ...loraFamilies, ...sleepFamilies])];
  for (const selector of selectors) selector.name = unique.indexOf(selector.family);
  return {
    profile,
    names: new FamilyNames(unique, loraFamilies),
    proofs: proofsOf(unique, profile.aliases ?? []),
    selectorsOfName: unique.map((name) => selectors.filter(({ family }) => family === name)),
    selectors,
    signals,
    capacity: signals.find((signal) => signal.metric === metric.kvCacheCapacityTokens),
    progress,
    loraNames: loraFamilies.map((family) => unique.indexOf(family)),
    sleepNames: sleepFamilies.map((family) => unique.indexOf(family)),
  };
}

/** A name is proof by itself when it begins in a spelling that needs none. */
function proofsOf(
  names: readonly string[],
  aliases: readonly Alias[],
): ReadonlyMap<string, readonly (readonly [string, string])[]> {
  const sure = aliases.flatMap(([own, other, proof]) => (proof === undefined ? [own, other] : own));
  const proofs = new Map<string, readonly (readonly [string, string])[]>();
  for (const [, other, proof] of aliases) {
    if (proof === undefined) continue;
    for (const name of names) {
      if (!name.startsWith(other) || sure.some((prefix) => name.startsWith(prefix))) continue;
      proofs.set(name, Object.entries(proof));
    }
  }
  return proofs;
}

function spellingsOf(family: string, aliases: readonly Alias[]): string[] {
  const others = aliases
    .filter(([from]) => family.startsWith(from))
    .map(([from, to]) => to + family.slice(from.length));
  return [family, ...others];
}

/** The source once per spelling of its families. */
function variants(source: Source, spellings: (family: string) => string[]): Source[] {
  const respell = (selector: Selector, i: number): Selector => ({
    ...selector,
    family: spellings(selector.family)[i] ?? selector.family,
  });
  const both = ([left, right]: readonly [Selector, Selector], i: number) =>
    [respell(left, i), respell(right, i)] as const;
  const pair = pairOf(source);
  const lead = pair === undefined ? (source as Selector) : pair[0];
  return spellings(lead.family).map((_, i) => {
    if ('divide' in source) return { divide: both(source.divide, i) };
    if ('multiply' in source) return { ...source, multiply: both(source.multiply, i) };
    if ('max' in source) return { max: both(source.max, i) };
    if ('add' in source) return { add: both(source.add, i) };
    return respell(source, i);
  });
}

function pairOf(source: Source): readonly [Selector, Selector] | undefined {
  if ('divide' in source) return source.divide;
  if ('multiply' in source) return source.multiply;
  if ('max' in source) return source.max;
  return 'add' in source ? source.add : undefined;
}

function compileSource(
  source: Source,
  unit: MetricUnit,
  select: (selector: Selector, unit: MetricUnit | undefined) => CompiledSelector,
): CompiledSource {
  if ('divide' in source) {
    // Numerator and denominator are amounts, whatever their quotient is.
    const [of, by] = source.divide;
    const operands = { first: select(of, 'total'), second: select(by, 'capacity') };
    return computed('divide', pairText(of, by, '÷'), operands);
  }
  if ('multiply' in source) {
    const [left, right] = source.multiply;
    const operands = { first: select(left, 'capacity'), second: select(right, 'size') };
    const stated = source.eachStatesTotal === true;
    return computed('multiply', pairText(left, right, '×'), operands, stated);
  }
  if ('add' in source) {
    const [left, right] = source.add;
    const operands = { first: select(left, unit), second: select(right, unit) };
    return computed('add', pairText(left, right, '+'), operands);
  }
  if ('max' in source) {
    const [left, right] = source.max;
    const operands = { first: select(left, unit), second: select(right, unit) };
    return computed('max', pairText(left, right, 'or'), operands);
  }
  const first = select(source, unit);
  const text = selectorText(source);
  const { cells } = first;
  return { op: 'value', text, first, second: undefined, cells, eachStatesTotal: false };
}

function computed(
  op: CompiledSource['op'],
  text: string,
  operands: { first: CompiledSelector; second: CompiledSelector },
  eachStatesTotal = false,
): CompiledSource {
  return { op, text, ...operands, cells: new Cells(), eachStatesTotal };
}

function pairText(left: Selector, right: Selector, sign: string): string {
  return `${selectorText(left)} ${sign} ${selectorText(right)}`;
}

/** A selector as one would ask for it: `family{key="value"}.label`. */
function selectorText(selector: Selector): string {
  const where = Object.entries(selector.where ?? {}).map(([key, value]) => `${key}="${value}"`);
  const labels = where.length === 0 ? '' : `{${where.join(',')}}`;
  return selector.family + labels + (selector.label === undefined ? '' : ` ${selector.label}`);
}
