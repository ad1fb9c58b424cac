/**
 * Builds what a pool is picked by from its configuration: fresh instances of all parts, so that no
 * two pools or workers share scratch memory.
 *
 * The configuration was checked by the main thread with the same catalog and modules, so an error
 * here is a module that behaves differently in a worker; it leaves the last good policy in place.
 */
import type {
  ChoiceConfig,
  FilterConfig,
  PartConfig,
  PoolConfig,
  SchedulingConfig,
} from '../scheduling-config.ts';
import type { ExtensionParts } from './extension/extension-parts.ts';
import { type FaultListener, guardFilter, guardPick, guardScorer } from './extension/guard.ts';
import { Composition } from './parts/composition.ts';
import type { Choice, Scorer, Strategy } from './parts/part.ts';
import { maxScorePick } from './parts/pick/max-score.ts';
import * as catalog from './policy/catalog.ts';
import type { NamedFilter, PoolPolicy } from './policy/policy.ts';
import type { PolicyFor } from './worker-scheduler.ts';

/** Hears once of a user's part that was switched off in a pool. */
export type PoolFaultListener = (pool: string, part: string, error: unknown) => void;

/** How to build the policy of any pool under a configuration. */
export function policiesOf(
  config: SchedulingConfig,
  extensions: readonly ExtensionParts[],
  onFault: PoolFaultListener,
): PolicyFor {
  return (pool) => {
    const onPartFault: FaultListener = (part, error) => onFault(pool, part, error);
    return new PolicyBuilder(extensions, onPartFault).build(poolConfigOf(config, pool), config);
  };
}

/** A pool's section: by `namespace/name`, by name alone, else the default. */
export function poolConfigOf(config: SchedulingConfig, pool: string): PoolConfig {
  const name = pool.slice(pool.lastIndexOf('/') + 1);
  for (const key of [pool, name]) {
    const found = Object.hasOwn(config.pools, key) ? config.pools[key] : undefined;
    if (found !== undefined) return found;
  }
  return config.default;
}

class PolicyBuilder {
  readonly #extensions: readonly ExtensionParts[];
  readonly #onFault: FaultListener;

  constructor(extensions: readonly ExtensionParts[], onFault: FaultListener) {
    this.#extensions = extensions;
    this.#onFault = onFault;
  }

  build(pool: PoolConfig, config: SchedulingConfig): PoolPolicy {
    const selectable = new Map<string, Strategy>();
    for (const name of config.routingHeaderAllow) {
      selectable.set(name, this.#strategy({ type: name, parameters: {} }));
    }
    return {
      strategyName: 'strategy' in pool.choice ? pool.choice.strategy.type : 'composition',
      strategy: this.#choice(pool.choice),
      selectable,
      filters: pool.filters.map((filter) => this.#filter(filter, pool)),
      staleAfterMs: pool.staleAfterMs,
      saturation: pool.saturation,
      retryAfterS: pool.retryAfterS,
      fallbacks: pool.fallbacks,
      priority: config.priority,
      flowControl: pool.flowControl,
      recordsPrompts: recordsPrompts(pool.choice) || recordsAny(config.routingHeaderAllow),
    };
  }

  #choice(choice: ChoiceConfig): Strategy {
    if ('strategy' in choice) return this.#strategy(choice.strategy);
    const scorers = choice.scorers.map(({ type, parameters, weight }) => ({
      name: type,
      scorer: this.#scorer({ type, parameters }),
      weight,
    }));
    return new Composition(scorers, this.#pick(choice.pick));
  }

  #strategy(part: PartConfig): Strategy {
    const kind = catalog.strategies[part.type];
    if (kind === undefined) throw new Error(`unknown strategy "${part.type}"`);
    return kind.create(part.parameters);
  }

  #scorer(part: PartConfig): Scorer {
    const own = catalog.scorers[part.type];
    if (own !== undefined) return own.create(part.parameters);
    const kind = find(this.#extensions, 'scorers', part.type);
    return guardScorer(part.type, kind.create(part.parameters), this.#onFault);
  }

  #pick(part: PartConfig): Choice {
    const own = catalog.picks[part.type];
    if (own !== undefined) return own.create(part.parameters);
    const kind = find(this.#extensions, 'picks', part.type);
    return guardPick(part.type, kind.create(part.parameters), maxScorePick(), this.#onFault);
  }

  #filter(part: FilterConfig, pool: PoolConfig): NamedFilter {
    const isPreference = part.onEmpty === 'keep';
    const own = catalog.filters[part.type];
    if (own !== undefined) {
      // The limits that shed requests also say which endpoints a filter should spare.
      const parameters =
        part.type === 'not-saturated'
          ? { ...pool.saturation, ...part.parameters }
          : part.parameters;
      return { name: part.type, filter: own.create(parameters), isPreference };
    }
    const kind = find(this.#extensions, 'filters', part.type);
    const filter = guardFilter(part.type, kind.create(part.parameters), this.#onFault);
    return { name: part.type, filter, isPreference };
  }
}

function find<Sort extends keyof ExtensionParts>(
  extensions: readonly ExtensionParts[],
  sort: Sort,
  name: string,
): ExtensionParts[Sort][string] {
  for (const parts of extensions) {
    if (Object.hasOwn(parts[sort], name)) return parts[sort][name] as ExtensionParts[Sort][string];
  }
  throw new Error(`unknown ${sort.slice(0, -1)} "${name}"`);
}

function recordsPrompts(choice: ChoiceConfig): boolean {
  if ('strategy' in choice) return catalog.usesPrefixes.has(choice.strategy.type);
  // A part of a user's may ask for prefixes too, and nothing tells.
  return choice.scorers.some(
    ({ type }) => catalog.usesPrefixes.has(type) || !Object.hasOwn(catalog.scorers, type),
  );
}

function recordsAny(names: readonly string[]): boolean {
  return names.some((name) => catalog.usesPrefixes.has(name));
}
