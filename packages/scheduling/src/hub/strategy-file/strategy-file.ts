/**
 * Reads a strategy file: Leadsman's own form, or the `EndpointPickerConfig` that users of the Go
 * pickers have. Every fault is found before any is reported, each with its line.
 */

import type {
  ChoiceConfig,
  ExtensionConfig,
  FilterConfig,
  PoolConfig,
  SchedulingConfig,
} from '../../scheduling-config.ts';
import { saturationLimitsDefault } from '../../worker/candidates/saturation.ts';
import type { ExtensionParts } from '../../worker/extension/extension-parts.ts';
import * as catalog from '../../worker/policy/catalog.ts';
import { fromEndpointPickerConfig } from './endpoint-picker-config.ts';
import { fileShape, type PoolShape, poolDefaults } from './file-shape.ts';
import { flowControlConfig } from './flow-control-shape.ts';
import { listNames, Problems } from './problems.ts';
import { type YamlPath, YamlSource } from './yaml-source.ts';

/** Loads the modules that the file names, as far as they can be loaded. */
export type ExtensionLoader = (
  module: string,
) => Promise<{ config: ExtensionConfig; parts: ExtensionParts } | { problem: string }>;

export interface StrategyFile {
  config: SchedulingConfig;
  /** What was accepted but has no effect here, for the log. */
  warnings: readonly string[];
}

/** Parses and checks a file's text. Throws {@link StrategyFileError} with all that is wrong. */
export async function parseStrategyFile(
  text: string,
  fileName: string,
  load: ExtensionLoader,
): Promise<StrategyFile> {
  const source = new YamlSource(text);
  const problems = new Problems(fileName, source);
  problems.throwIfAny();
  const warnings: string[] = [];
  const data = source.data ?? {};
  const isForeign = (data as { kind?: unknown }).kind === 'EndpointPickerConfig';
  const config = isForeign
    ? fromEndpointPickerConfig(data, problems, warnings)
    : await fromOwnForm(data, problems, load);
  problems.throwIfAny();
  return { config: config!, warnings };
}

/**
 * The configuration without a file: one strategy for every pool, numbers trusted up to the given
 * age in ms (the file's default when left out). Throws on an unknown name.
 */
export async function configForStrategy(
  name: string,
  staleAfterMs?: number,
): Promise<SchedulingConfig> {
  const text = JSON.stringify({ default: { strategy: name, staleAfterMs } });
  const noExtensions: ExtensionLoader = async () => ({ problem: 'no extensions here' });
  return (await parseStrategyFile(text, '--strategy', noExtensions)).config;
}

async function fromOwnForm(
  data: unknown,
  problems: Problems,
  load: ExtensionLoader,
): Promise<SchedulingConfig | undefined> {
  const parsed = fileShape.safeParse(data);
  if (!parsed.success) {
    problems.addIssues(parsed.error, []);
    return undefined;
  }
  const file = parsed.data;
  const parts: ExtensionParts[] = [];
  const extensions: ExtensionConfig[] = [];
  for (const [i, { module }] of file.extensions.entries()) {
    const loaded = await load(module);
    if ('problem' in loaded) problems.add(['extensions', i, 'module'], loaded.problem);
    else {
      parts.push(loaded.parts);
      extensions.push(loaded.config);
    }
  }
  const names = new KnownParts(parts, problems);
  names.check(file.default, ['default']);
  const pools: Record<string, PoolConfig> = {};
  for (const [name, pool] of Object.entries(file.pools)) {
    names.check(pool, ['pools', name]);
    pools[name] = poolConfig(inherit(pool, file.default));
  }
  for (const [i, name] of file.routingHeader.allow.entries()) {
    names.require('strategy', name, ['routingHeader', 'allow', i]);
  }
  return {
    default: poolConfig(file.default),
    pools,
    extensions,
    routingHeaderAllow: file.routingHeader.allow,
    priority: file.priority,
    prefixIndex: file.prefixIndex,
    replicas: file.replicas,
  };
}

/** A pool that says how to choose replaces the default's way whole, the rest field by field. */
function inherit(pool: PoolShape, base: PoolShape): PoolShape {
  const choosesItself = pool.strategy !== undefined || pool.scorers !== undefined;
  const { strategy: _strategy, scorers: _scorers, pick: _pick, ...rest } = base;
  return { ...(choosesItself ? rest : base), ...pool };
}

/** A section with every default filled in. */
function poolConfig(pool: PoolShape): PoolConfig {
  return {
    choice: choiceOf(pool),
    filters: (pool.filters ?? []).map((filter) => ({
      ...filter,
      onEmpty: filter.onEmpty ?? onEmptyOf(filter.type),
    })),
    saturation: pool.saturation ?? saturationLimitsDefault,
    staleAfterMs: pool.staleAfterMs ?? poolDefaults.staleAfterMs,
    retryAfterS: pool.retryAfterS ?? poolDefaults.retryAfterS,
    fallbacks: pool.fallbacks ?? poolDefaults.fallbacks,
    flowControl: flowControlConfig(pool.flowControl),
  };
}

function choiceOf({ strategy, scorers, pick }: PoolShape): ChoiceConfig {
  if (strategy !== undefined) return { strategy };
  if (scorers !== undefined) {
    return { scorers, pick: pick ?? { type: 'max-score', parameters: {} } };
  }
  return { strategy: { type: 'expected-work', parameters: {} } };
}

type PartSort = 'strategy' | 'filter' | 'scorer' | 'pick';

/** The names a file may use: the built-in ones and those of its extensions. */
class KnownParts {
  readonly #problems: Problems;
  readonly #kinds: Record<PartSort, Record<string, catalog.Kind<unknown>>>;

  constructor(extensions: readonly ExtensionParts[], problems: Problems) {
    this.#problems = problems;
    this.#kinds = {
      strategy: { ...catalog.strategies },
      filter: Object.assign({}, ...extensions.map((parts) => parts.filters), catalog.filters),
      scorer: Object.assign({}, ...extensions.map((parts) => parts.scorers), catalog.scorers),
      pick: Object.assign({}, ...extensions.map((parts) => parts.picks), catalog.picks),
    };
  }

  require(sort: PartSort, name: string, path: YamlPath): catalog.Kind<unknown> | undefined {
    const known = this.#kinds[sort];
    if (Object.hasOwn(known, name)) return known[name];
    this.#problems.add(path, `unknown ${sort} "${name}"; known: ${listNames(Object.keys(known))}`);
    return undefined;
  }

  /** Checks what a section says itself; what it inherits is checked where it stands. */
  check(section: PoolShape, path: YamlPath): void {
    const { strategy, scorers, pick, filters } = section;
    if (strategy !== undefined) {
      if (scorers !== undefined || pick !== undefined) {
        this.#problems.add([...path, 'strategy'], 'give either a strategy or scorers and a pick');
      }
      this.#part('strategy', strategy, [...path, 'strategy']);
    } else if (pick !== undefined && scorers === undefined) {
      this.#problems.add([...path, 'pick'], 'a pick needs scorers');
    }
    for (const [i, scorer] of (scorers ?? []).entries()) {
      this.#part('scorer', scorer, [...path, 'scorers', i]);
    }
    if (pick !== undefined) this.#part('pick', pick, [...path, 'pick']);
    for (const [i, filter] of (filters ?? []).entries()) {
      this.#part('filter', filter, [...path, 'filters', i]);
    }
  }

  #part(
    sort: PartSort,
    part: { type: string; parameters: Record<string, unknown> },
    path: YamlPath,
  ): void {
    const kind = this.require(sort, part.type, [...path, 'type']);
    if (kind === undefined) return;
    try {
      kind.check(part.parameters);
    } catch (error) {
      this.#problems.addFailure(error, [...path, 'parameters']);
    }
  }
}

function onEmptyOf(type: string): FilterConfig['onEmpty'] {
  return catalog.preferences.has(type) ? 'keep' : 'refuse';
}
