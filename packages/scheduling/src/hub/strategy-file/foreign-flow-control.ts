/**
 * The `flowControl` of an `EndpointPickerConfig`, said in the form of our own strategy file.
 *
 * Fairness between flows is by tokens here whatever policy a band names, so only the policy that
 * comes nearest is taken, with a warning; the order within a flow has counterparts. What would let
 * other requests through than the admin meant is a fault, by name.
 */
import * as z from 'zod';
import type { FlowControlShape, flowControlShape } from './flow-control-shape.ts';
import type { Problems } from './problems.ts';
import type { YamlPath } from './yaml-source.ts';

const size = z.number().int().min(0);
/** A Go duration: `1m30s`, `250ms`, `0s`. */
const durationMs = z.string().transform((text, context) => {
  const ms = goDurationMs(text);
  if (ms !== undefined) return ms;
  context.addIssue({ code: 'custom', message: `"${text}" is no duration such as 60s` });
  return z.NEVER;
});
const band = z.looseObject({
  maxBytes: size.optional(),
  maxRequests: size.optional(),
  fairnessPolicyRef: z.string().optional(),
  orderingPolicyRef: z.string().optional(),
});

export const foreignFlowControlShape = z.looseObject({
  maxBytes: size.optional(),
  maxRequests: size.optional(),
  defaultRequestTTL: durationMs.optional(),
  noEndpointRequestTTL: durationMs.optional(),
  defaultPriorityBand: band.optional(),
  defaultNegativePriorityBand: band.optional(),
  priorityBands: z
    .array(band.extend({ priority: z.number().int() }))
    .max(64)
    .optional(),
  usageLimitPolicyPluginRef: z.string().optional(),
  saturationDetector: z.looseObject({ pluginRef: z.string().optional() }).optional(),
  enableEviction: z.boolean().optional(),
});

export type ForeignFlowControl = z.output<typeof foreignFlowControlShape>;

type ForeignBand = z.output<typeof band>;

const orderingOf: Readonly<Record<string, 'fcfs' | 'edf'>> = {
  'fcfs-ordering-policy': 'fcfs',
  'edf-ordering-policy': 'edf',
  'slo-deadline-ordering-policy': 'edf',
};
const detectors: readonly string[] = ['utilization-detector', 'concurrency-detector'];
const fairnessTaken = 'round-robin-fairness-policy';

export interface ForeignContext {
  problems: Problems;
  warnings: string[];
  /** Type of a plugin by its name; the name itself when no plugin is called so. */
  typeOf(pluginRef: string): string;
  /** `maxConcurrency` of a concurrency-detector, if the file has one. */
  batchRequests: number | undefined;
}

/** Translates the section; faults go to `problems`, what has no effect to `warnings`. */
export function fromForeignFlowControl(
  given: ForeignFlowControl,
  context: ForeignContext,
): z.input<typeof flowControlShape> {
  const { problems, warnings, batchRequests } = context;
  const at = (key: string): YamlPath => ['flowControl', key];
  if (given.usageLimitPolicyPluginRef !== undefined) {
    const name = context.typeOf(given.usageLimitPolicyPluginRef);
    problems.add(at('usageLimitPolicyPluginRef'), `"${name}" has no counterpart`);
  }
  if (given.enableEviction === true) {
    problems.add(at('enableEviction'), 'running requests are not evicted here');
  }
  const detector = context.typeOf(given.saturationDetector?.pluginRef ?? detectors[0]!);
  if (!detectors.includes(detector)) {
    problems.add(at('saturationDetector'), `"${detector}" has no counterpart`);
  }
  for (const key of Object.keys(given)) {
    if (!(key in foreignFlowControlShape.shape)) {
      warnings.push(`flowControl.${key} has no counterpart and is ignored`);
    }
  }
  const ttlMs = given.defaultRequestTTL ?? 60_000;
  const translate = (one: ForeignBand | undefined, path: YamlPath) =>
    one === undefined ? {} : bandOf(one, path, context);
  return {
    ...boundsOf(given),
    noEndpointTtlMs: given.noEndpointRequestTTL ?? ttlMs,
    ...(batchRequests === undefined ? {} : { gate: { batchRequests } }),
    band: { ttlMs, ...translate(given.defaultPriorityBand, at('defaultPriorityBand')) },
    sheddableBand: translate(given.defaultNegativePriorityBand, at('defaultNegativePriorityBand')),
    bands: (given.priorityBands ?? []).map((one, i) => ({
      priority: one.priority,
      ...bandOf(one, ['flowControl', 'priorityBands', i], context),
    })),
  };
}

function bandOf(
  one: ForeignBand,
  path: YamlPath,
  { problems, warnings, typeOf }: ForeignContext,
): Partial<FlowControlShape['band']> {
  const fairness = one.fairnessPolicyRef && typeOf(one.fairnessPolicyRef);
  if (fairness === fairnessTaken) {
    warnings.push(`${fairness}: flows share by tokens here, not by turns`);
  } else if (fairness !== undefined && fairness !== '') {
    problems.add(
      [...path, 'fairnessPolicyRef'],
      `"${fairness}" has no counterpart; known: ${fairnessTaken}`,
    );
  }
  const order = one.orderingPolicyRef && typeOf(one.orderingPolicyRef);
  if (order === undefined || order === '') return boundsOf(one);
  const ordering = Object.hasOwn(orderingOf, order) ? orderingOf[order] : undefined;
  if (ordering === undefined) {
    const known = Object.keys(orderingOf).join(', ');
    problems.add([...path, 'orderingPolicyRef'], `"${order}" has no counterpart; known: ${known}`);
    return boundsOf(one);
  }
  return { ...boundsOf(one), ordering };
}

interface Bounds {
  maxBytes?: number | undefined;
  maxRequests?: number | undefined;
}

/** 0 is unset there. */
function boundsOf({ maxBytes = 0, maxRequests = 0 }: Bounds): {
  bytesMax?: number;
  requestsMax?: number;
} {
  return {
    ...(maxBytes > 0 ? { bytesMax: Math.max(1_024, maxBytes) } : {}),
    ...(maxRequests > 0 ? { requestsMax: maxRequests } : {}),
  };
}

const msPerUnit: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

function goDurationMs(text: string): number | undefined {
  if (text === '0') return 0;
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) return undefined;
  let ms = 0;
  for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) {
    ms += Number(number) * msPerUnit[unit!]!;
  }
  return Math.round(ms);
}
