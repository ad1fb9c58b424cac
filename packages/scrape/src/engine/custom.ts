/**
 * Custom mappings: a profile from a YAML file, for an engine we do not know or one whose page
 * another program changed. An entry of its own (`@leadsman/scrape/custom`), so that a sidecar
 * without a mapping does not load a YAML parser.
 *
 * ```yaml
 * engine: house-engine
 * rankLabel: shard
 * modelLabels: [model]
 * metrics:
 *   runningRequests: house_running
 *   waitingRequests:
 *     - { family: house_queue, where: { state: waiting } }
 *     - house_queue_old
 *   kvCacheUsageRatio:
 *     divide: [house_kv_used, house_kv_total]
 * progress: [house_steps_total]
 * ```
 */
import { readFileSync } from 'node:fs';
import { type MetricName, metricNames } from '@leadsman/wire';
import { parse } from 'yaml';
import * as z from 'zod';
import type { EngineProfile, Selector, Source } from './profile.ts';

const fileBytesMax = 1_048_576;

const familySchema = z.string().regex(/^[a-zA-Z_:][a-zA-Z0-9_:]*$/, 'not a metric name');

const selectorSchema = z.union([
  familySchema.transform((family): Selector => ({ family })),
  z
    .strictObject({
      family: familySchema,
      where: z.record(z.string(), z.string()).optional(),
      label: z.string().min(1).optional(),
      scale: z.number().positive().optional(),
    })
    .transform((selector) => selector as Selector),
]);

const pairSchema = z.tuple([selectorSchema, selectorSchema]);

const sourceSchema = z.union([
  selectorSchema,
  z.strictObject({ divide: pairSchema }),
  z.strictObject({ multiply: pairSchema }),
  z.strictObject({ add: pairSchema }),
  z.strictObject({ max: pairSchema }),
]);

/** Set by us, not by a page. */
const reserved: readonly MetricName[] = [
  'kvCacheUsageMaxRatio',
  'loraSlotsMax',
  'scrapeDurationMs',
  'scrapeIntervalMs',
];
const mappable = metricNames.filter((name) => !reserved.includes(name));

const mappingSchema = z.strictObject({
  engine: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'lower-case letters, digits and dashes'),
  metricsPath: z.string().startsWith('/').default('/metrics'),
  rankLabel: z.string().min(1).optional(),
  replicaLabels: z.array(z.string().min(1)).default([]),
  partLabel: z.string().min(1).optional(),
  version: z
    .strictObject({ path: z.string().startsWith('/'), field: z.string().min(1) })
    .optional(),
  modelLabels: z.array(z.string().min(1)).default([]),
  metrics: z.partialRecord(
    z.enum(mappable as [MetricName, ...MetricName[]]),
    z.union([sourceSchema, z.array(sourceSchema).min(1)]),
  ),
  progress: z.array(selectorSchema).default([]),
});

/** The profile that a mapping's text describes. Throws an Error that names every fault. */
export function parseCustomMapping(text: string): EngineProfile {
  const result = mappingSchema.safeParse(parse(text, { maxAliasCount: 32 }));
  if (!result.success) {
    const faults = result.error.issues.map(
      (issue) => `  ${issue.path.join('.') || 'mapping'}: ${issue.message}`,
    );
    throw new Error(`engine mapping is not usable:\n${faults.join('\n')}`);
  }
  const { engine, metrics, rankLabel, partLabel, version, ...rest } = result.data;
  return {
    name: engine,
    title: engine,
    ...rest,
    ...(rankLabel === undefined ? {} : { rankLabel }),
    ...(partLabel === undefined ? {} : { partLabel }),
    ...(version === undefined ? {} : { versionPages: [version] }),
    signals: Object.entries(metrics).map(([name, sources]) => ({
      metric: name as MetricName,
      sources: (Array.isArray(sources) ? sources : [sources]) as readonly Source[],
    })),
  };
}

/** Reads a mapping from a file. Throws an Error that names the file and every fault. */
export function readCustomMapping(path: string): EngineProfile {
  const text = readFileSync(path, 'utf8');
  if (text.length > fileBytesMax) throw new Error(`${path}: too large for an engine mapping`);
  try {
    return parseCustomMapping(text);
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}`, { cause: error });
  }
}
