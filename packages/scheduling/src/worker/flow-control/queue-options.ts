/** The queue's options, as the configuration of a pool says them. */
import type { FlowBandConfig, FlowControlConfig } from '../../scheduling-config.ts';
import type { BandOptions } from './band.ts';
import type { FlowQueueOptions } from './flow-queue.ts';

export function queueOptionsOf(config: FlowControlConfig): FlowQueueOptions {
  const weights = new Map(Object.entries(config.weights));
  return {
    requestsMax: config.requestsMax,
    bytesMax: config.bytesMax,
    noEndpointTtlMs: config.noEndpointTtlMs,
    bandOptions: (priority) => bandOptionsOf(bandConfigOf(config, priority), weights),
  };
}

function bandConfigOf(config: FlowControlConfig, priority: number): FlowBandConfig {
  const named = config.bands.find((band) => band.priority === priority);
  if (named !== undefined) return named;
  return priority < 0 ? config.sheddableBand : config.band;
}

function bandOptionsOf(
  { ttlMs, ...band }: FlowBandConfig,
  weights: ReadonlyMap<string, number>,
): BandOptions {
  return { ...band, ttlMs: ttlMs === 0 ? Number.POSITIVE_INFINITY : ttlMs, weights };
}
