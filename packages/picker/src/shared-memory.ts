/**
 * The memory that the picker's threads share: the fleet view, the in-flight table, the tables of
 * scheduling, and counters. Made once, before any thread.
 */
import { createView } from '@leadsman/collector/view/layout';
import type { PrefixIndexConfig } from './config/scheduling-config.ts';
import { counterBytes } from './ext-proc/counters.ts';
import { createSharedRequestsBuffer } from './in-flight/shared-requests.ts';
import { createInFlightBuffer } from './in-flight/table.ts';
import { createSchedulingMemory } from './scheduling/shared-memory.ts';
import type { SharedMemory } from './workers/messages.ts';

export interface SharedMemorySize {
  endpointsMax: number;
  workers: number;
  prefixIndex: PrefixIndexConfig;
}

/** Reserves all of it; pages are committed when first touched. */
export function openSharedMemory(size: SharedMemorySize): SharedMemory {
  const { endpointsMax, workers } = size;
  const inFlightShape = { endpointsMax, workers };
  return {
    view: createView({ slotsMax: endpointsMax }),
    inFlight: createInFlightBuffer(inFlightShape),
    inFlightShape,
    requests: createSharedRequestsBuffer(),
    picks: new SharedArrayBuffer(endpointsMax * Uint32Array.BYTES_PER_ELEMENT),
    scheduling: createSchedulingMemory(endpointsMax, workers, size.prefixIndex),
    counters: Array.from({ length: workers }, () => new SharedArrayBuffer(counterBytes)),
  };
}
