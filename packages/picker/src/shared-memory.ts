/**
 * The memory that the picker's threads share: the fleet view, the in-flight table, the tables of
 * scheduling, and counters. Made once, before any thread.
 */

import { counterBytes } from '@leadsman/ext-proc/counters';
import { createSharedRequestsBuffer } from '@leadsman/ext-proc/in-flight/shared-requests';
import type { PrefixIndexConfig } from '@leadsman/scheduling/scheduling-config';
import { createInFlightBuffer } from '@leadsman/scheduling/shared/in-flight-table';
import { createSchedulingMemory } from '@leadsman/scheduling/shared/shared-memory';
import { createView } from '@leadsman/view/layout';
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
