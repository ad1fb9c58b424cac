/** The form of a pool's `flowControl` in Leadsman's own strategy file. */
import * as z from 'zod';
import type { FlowBandConfig, FlowControlConfig } from '../../scheduling-config.ts';
import { bandsMax } from '../../worker/flow-control/flow-queue.ts';
import { ageingTokensPerMsDefault, orderings } from '../../worker/flow-control/ordering.ts';
import { flowHeaderDefault } from '../../worker/flow-control/queued-request.ts';

/** Weights by name: as many as there are flows by name. */
const weightsMax = 1_024;
const day = 86_400_000;
/** A gigabyte and 5,000 requests, the bounds that users of other pickers know. */
const bandBytesMax = 1_000_000_000;
const bandRequestsMax = 5_000;

const requestsMax = z.number().int().min(1).max(1_000_000);
const bytesMax = z.number().int().min(1_024).max(1_099_511_627_776);
const ttlMs = z.number().int().min(0).max(day);

const band = z.strictObject({
  ordering: z.enum(orderings).optional(),
  ageingTokensPerMs: z.number().min(0).max(1e6).optional(),
  ttlMs: ttlMs.optional(),
  requestsMax: requestsMax.optional(),
  bytesMax: bytesMax.optional(),
  floorShare: z.number().min(0).max(1).optional(),
});

const namedBand = band.extend({
  priority: z.number().int().min(-2_147_483_648).max(2_147_483_647),
});

type Band = z.output<typeof band>;

export const flowControlShape = z
  .strictObject({
    enabled: z.boolean().default(true),
    header: z.string().toLowerCase().min(1).default(flowHeaderDefault),
    requestsMax: requestsMax.default(10_000),
    bytesMax: bytesMax.default(bandBytesMax),
    noEndpointTtlMs: ttlMs.default(0),
    outputTokenWeight: z.number().min(0).max(1_000).default(2),
    weights: z.record(z.string(), z.number().min(0.001).max(1_000)).default({}),
    gate: z
      .strictObject({
        batchRequests: z.number().int().min(0).max(65_536).default(0),
        kvCacheUsageRatio: z.number().min(0.1).max(1).default(0.95),
      })
      .prefault({}),
    band: band.prefault({}),
    sheddableBand: band.prefault({}),
    bands: z.array(namedBand).max(bandsMax).default([]),
  })
  .superRefine((given, context) => {
    const seen = new Set<number>();
    for (const [i, { priority }] of given.bands.entries()) {
      if (seen.has(priority)) {
        const path = ['bands', i, 'priority'];
        context.addIssue({ code: 'custom', path, message: `priority ${priority} stands twice` });
      }
      seen.add(priority);
    }
    if (Object.keys(given.weights).length > weightsMax) {
      const message = `at most ${weightsMax} flows can have weights`;
      context.addIssue({ code: 'custom', path: ['weights'], message });
    }
  });

export type FlowControlShape = z.output<typeof flowControlShape>;

/** With every default filled in; `undefined`: switched off. */
export function flowControlConfig(
  given: FlowControlShape | undefined,
): FlowControlConfig | undefined {
  if (given === undefined || !given.enabled) return undefined;
  const { enabled: _, band, sheddableBand, bands, ...rest } = given;
  return {
    ...rest,
    band: bandConfig(band),
    sheddableBand: bandConfig({ ...band, ...sheddableBand }),
    bands: bands.map(({ priority, ...own }) => ({
      priority,
      ...bandConfig({ ...band, ...(priority < 0 ? sheddableBand : {}), ...own }),
    })),
  };
}

/** What a band does not say comes from the one it stands under. */
function bandConfig(given: Band): FlowBandConfig {
  return {
    ordering: given.ordering ?? 'fcfs',
    ageingTokensPerMs: given.ageingTokensPerMs ?? ageingTokensPerMsDefault,
    ttlMs: given.ttlMs ?? 60_000,
    requestsMax: given.requestsMax ?? bandRequestsMax,
    bytesMax: given.bytesMax ?? bandBytesMax,
    floorShare: given.floorShare ?? 0,
  };
}
