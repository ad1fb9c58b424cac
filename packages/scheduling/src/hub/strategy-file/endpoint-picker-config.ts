/**
 * Reads the configuration file of the Go pickers (`kind: EndpointPickerConfig`, of Gateway API
 * Inference Extension and llm-d) and says the same in Leadsman's terms.
 *
 * Every plugin with a counterpart here is taken over; any other is an error that lists the known
 * ones, since leaving one out in silence would change what the admin asked for. Parameters that
 * size the other picker's own machinery (block sizes, LRU capacities) are named in a warning.
 */
import * as z from 'zod';
import type {
  FilterConfig,
  FlowControlConfig,
  PartConfig,
  PoolConfig,
  SchedulingConfig,
  ScorerConfig,
} from '../../scheduling-config.ts';
import { saturationLimitsDefault } from '../../worker/candidates/saturation.ts';
import * as catalog from '../../worker/policy/catalog.ts';
import { objectiveHeaderDefault } from '../../worker/policy/policy.ts';
import { fileShape, poolDefaults } from './file-shape.ts';
import { flowControlConfig, flowControlShape } from './flow-control-shape.ts';
import {
  type ForeignFlowControl,
  foreignFlowControlShape,
  fromForeignFlowControl,
} from './foreign-flow-control.ts';
import { type Counterpart, counterparts } from './plugin-counterparts.ts';
import { listNames, type Problems } from './problems.ts';

const parameters = z.record(z.string(), z.unknown()).nullable().optional();
const plugin = z.looseObject({ name: z.string().optional(), type: z.string(), parameters });
const reference = z.looseObject({
  pluginRef: z.string(),
  weight: z.number().min(0).max(1e6).optional(),
});
const profile = z.looseObject({ name: z.string().optional(), plugins: z.array(reference) });
const detector = z.looseObject({
  pluginRef: z.string().optional(),
  queueDepthThreshold: z.number().min(0).optional(),
  kvCacheUtilThreshold: z.number().min(0).max(1).optional(),
  metricsStalenessThreshold: z.union([z.string(), z.number()]).optional(),
});
const shape = z.looseObject({
  apiVersion: z.string().optional(),
  kind: z.literal('EndpointPickerConfig'),
  plugins: z.array(plugin).min(1),
  schedulingProfiles: z.array(profile).default([]),
  saturationDetector: detector.optional(),
  featureGates: z.array(z.string()).default([]),
  flowControl: foreignFlowControlShape.optional(),
});

type Plugin = z.output<typeof plugin>;

const kindsOf = {
  filter: catalog.filters,
  scorer: catalog.scorers,
  pick: catalog.picks,
} as const;

const fieldsRead = new Set(Object.keys(shape.shape));

/** Translates the file's data; faults go to `problems`, what has no effect to `warnings`. */
export function fromEndpointPickerConfig(
  data: unknown,
  problems: Problems,
  warnings: string[],
): SchedulingConfig | undefined {
  const parsed = shape.safeParse(data);
  if (!parsed.success) {
    problems.addIssues(parsed.error, []);
    return undefined;
  }
  const file = parsed.data;
  for (const key of Object.keys(file)) {
    if (!fieldsRead.has(key)) warnings.push(`${key} has no counterpart and is ignored`);
  }
  const found = new Map<string, { plugin: Plugin; counterpart: Counterpart; at: number }>();
  for (const [at, entry] of file.plugins.entries()) {
    const counterpart = counterparts[entry.type];
    if (counterpart === undefined) {
      const known = listNames(Object.keys(counterparts));
      problems.add(['plugins', at, 'type'], `unknown plugin "${entry.type}"; known: ${known}`);
      continue;
    }
    found.set(entry.name ?? entry.type, { plugin: entry, counterpart, at });
  }
  if (file.schedulingProfiles.length > 1) {
    problems.add(['schedulingProfiles', 1], 'only one scheduling profile is supported');
  }
  const everyPlugin = [...found.keys()].map((pluginRef) => ({ pluginRef, weight: undefined }));
  const references = file.schedulingProfiles[0]?.plugins ?? everyPlugin;
  const pool = new Translation(problems, warnings);
  for (const [i, { pluginRef, weight }] of references.entries()) {
    const entry = found.get(pluginRef);
    if (entry !== undefined) pool.add(entry.plugin, entry.counterpart, entry.at, weight ?? 1);
    else if (!file.plugins.some(({ name, type }) => (name ?? type) === pluginRef)) {
      const path = ['schedulingProfiles', 0, 'plugins', i, 'pluginRef'];
      problems.add(
        path,
        `no plugin is called "${pluginRef}"; there are: ${listNames(found.keys())}`,
      );
    }
  }
  const plugins = [...found.values()];
  const config = pool.finish(file.saturationDetector, plugins);
  const flowControl = flowControlOf(file, plugins, problems, warnings);
  return { ...config, default: { ...config.default, flowControl } };
}

const flowControlGate = 'flowControl';

/** Flow control is on where its feature gate is, as with the Go pickers. */
function flowControlOf(
  file: { featureGates: readonly string[]; flowControl?: ForeignFlowControl | undefined },
  plugins: readonly { plugin: Plugin }[],
  problems: Problems,
  warnings: string[],
): FlowControlConfig | undefined {
  for (const gate of file.featureGates) {
    if (gate !== flowControlGate) warnings.push(`feature gate ${gate} has no counterpart`);
  }
  if (!file.featureGates.includes(flowControlGate)) {
    if (file.flowControl !== undefined) {
      warnings.push('flowControl is ignored without its feature gate');
    }
    return undefined;
  }
  const detector = plugins.find(({ plugin }) => plugin.type === 'concurrency-detector')?.plugin;
  const most = detector?.parameters?.maxConcurrency;
  const given = fromForeignFlowControl(file.flowControl ?? {}, {
    problems,
    warnings,
    typeOf: (name) =>
      plugins.find(({ plugin }) => (plugin.name ?? plugin.type) === name)?.plugin.type ?? name,
    batchRequests: typeof most === 'number' && most > 0 ? Math.floor(most) : undefined,
  });
  const parsed = flowControlShape.safeParse(given);
  if (parsed.success) return flowControlConfig(parsed.data);
  problems.addIssues(parsed.error, ['flowControl']);
  return undefined;
}

class Translation {
  readonly #problems: Problems;
  readonly #warnings: string[];
  readonly #filters: FilterConfig[] = [];
  readonly #scorers: ScorerConfig[] = [];
  #pick: PartConfig | undefined;
  #fallbacks = 0;

  constructor(problems: Problems, warnings: string[]) {
    this.#problems = problems;
    this.#warnings = warnings;
  }

  add(plugin: Plugin, counterpart: Counterpart, at: number, weight: number): void {
    const given = plugin.parameters ?? {};
    const path = ['plugins', at, 'parameters'];
    const { parts, ignored } = counterpart.translate(given);
    for (const name of ignored) {
      this.#warnings.push(`${plugin.type}: parameter ${name} has no counterpart and is ignored`);
    }
    for (const { sort, type, parameters } of parts) {
      try {
        kindsOf[sort][type]?.check(parameters);
      } catch (error) {
        this.#problems.addFailure(error, path);
      }
      if (sort === 'filter') this.#filters.push({ type, parameters, onEmpty: 'refuse' });
      else if (sort === 'scorer' && weight > 0) this.#scorers.push({ type, parameters, weight });
      else if (sort === 'pick') {
        this.#pick = { type, parameters };
        this.#fallbacks = fallbacksOf(given.maxNumOfEndpoints);
      }
    }
  }

  finish(
    given: z.output<typeof detector> | undefined,
    plugins: readonly { plugin: Plugin }[],
  ): SchedulingConfig {
    const named = plugins.find(({ plugin }) => plugin.type === 'utilization-detector');
    const limits = { ...(named?.plugin.parameters ?? {}), ...given } as typeof given & object;
    const defaults = fileShape.parse({});
    const pool: PoolConfig = {
      choice: {
        scorers: this.#scorers,
        pick: this.#pick ?? { type: 'max-score', parameters: {} },
      },
      filters: this.#filters,
      saturation: {
        queueRequests: limits.queueDepthThreshold ?? saturationLimitsDefault.queueRequests,
        kvCacheUsageRatio: limits.kvCacheUtilThreshold ?? saturationLimitsDefault.kvCacheUsageRatio,
      },
      staleAfterMs: poolDefaults.staleAfterMs,
      retryAfterS: poolDefaults.retryAfterS,
      fallbacks: this.#fallbacks,
      flowControl: undefined,
    };
    return {
      default: pool,
      pools: {},
      extensions: [],
      routingHeaderAllow: [],
      priority: { header: objectiveHeaderDefault, values: {} },
      prefixIndex: defaults.prefixIndex,
      replicas: defaults.replicas,
    };
  }
}

/** The Go pickers name up to `maxNumOfEndpoints` endpoints, the first included. */
function fallbacksOf(maxNumOfEndpoints: unknown): number {
  if (typeof maxNumOfEndpoints !== 'number' || !(maxNumOfEndpoints > 1)) return 0;
  return Math.min(7, Math.floor(maxNumOfEndpoints) - 1);
}
