/** The form of Leadsman's own strategy file. docs/configuration.md describes it for people. */

import { staleAfterMsDefault } from '@leadsman/view/trust';
import * as z from 'zod';
import { saturationLimitsDefault } from '../../worker/candidates/saturation.ts';
import { objectiveHeaderDefault } from '../../worker/policy/policy.ts';
import { flowControlShape } from './flow-control-shape.ts';

const parameters = z.record(z.string(), z.unknown()).default({});

const part = z.strictObject({ type: z.string().min(1), parameters });
/** `random` is short for `{type: random}`. */
const partOrName = z.union([
  z
    .string()
    .min(1)
    .transform((type) => ({ type, parameters: {} })),
  part,
]);

const filter = part.extend({ onEmpty: z.enum(['keep', 'refuse']).optional() });
const scorer = part.extend({ weight: z.number().positive().max(1e6).default(1) });

/** One pool's fields; what is missing comes from `default`. */
const poolShape = z.strictObject({
  strategy: partOrName.optional(),
  scorers: z.array(scorer).min(1).max(32).optional(),
  pick: partOrName.optional(),
  filters: z.array(filter).max(32).optional(),
  saturation: z
    .strictObject({
      queueRequests: z.number().min(0).default(saturationLimitsDefault.queueRequests),
      kvCacheUsageRatio: z
        .number()
        .min(0)
        .max(1)
        .default(saturationLimitsDefault.kvCacheUsageRatio),
    })
    .optional(),
  staleAfterMs: z.number().int().min(100).max(600_000).optional(),
  retryAfterS: z.number().int().min(1).max(3_600).optional(),
  fallbacks: z.number().int().min(0).max(7).optional(),
  flowControl: flowControlShape.optional(),
});

export type PoolShape = z.output<typeof poolShape>;

export const fileShape = z.strictObject({
  kind: z.literal('SchedulingConfig').optional(),
  default: poolShape.default({}),
  pools: z.record(z.string().min(1), poolShape).default({}),
  extensions: z
    .array(z.strictObject({ module: z.string().min(1) }))
    .max(32)
    .default([]),
  routingHeader: z.strictObject({ allow: z.array(z.string()).max(64) }).default({ allow: [] }),
  priority: z
    .strictObject({
      header: z.string().toLowerCase().min(1).default(objectiveHeaderDefault),
      values: z.record(z.string(), z.number().int()).default({}),
    })
    .default({ header: objectiveHeaderDefault, values: {} }),
  prefixIndex: z
    .strictObject({
      tokensPerEndpoint: z.number().int().min(1_024).max(67_108_864).default(4_194_304),
      distinctBlocks: z.number().int().min(1_024).max(67_108_864).default(1_048_576),
    })
    .prefault({}),
  replicas: z
    .strictObject({
      shareIntervalMs: z.number().int().min(5).max(1_000).default(20),
      keyframeIntervalMs: z.number().int().min(100).max(10_000).default(1_000),
      delayMsMax: z.number().int().min(20).max(10_000).default(100),
      expireAfterMs: z.number().int().min(500).max(60_000).default(3_000),
      historyBytesPerSecond: z.number().int().min(0).max(100_000_000).default(1_000_000),
    })
    .prefault({}),
});

export const poolDefaults = {
  staleAfterMs: staleAfterMsDefault,
  retryAfterS: 1,
  fallbacks: 0,
} as const;
