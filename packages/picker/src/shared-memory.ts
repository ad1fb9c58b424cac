/**
 * The memory that the picker's threads share: the fleet view, the in-flight table, and the picks
 * per endpoint. Made once, before any thread.
 */
import { createView } from '@leadsman/collector';
import { createInFlightBuffer } from './in-flight/table.ts';
import type { SharedMemory } from './workers/messages.ts';

/** Reserves all of it; pages are committed when first touched. */
export function openSharedMemory(size: { endpointsMax: number; workers: number }): SharedMemory {
  const inFlightShape = { endpointsMax: size.endpointsMax, workers: size.workers };
  return {
    view: createView({ slotsMax: size.endpointsMax }),
    inFlight: createInFlightBuffer(inFlightShape),
    inFlightShape,
    picks: new SharedArrayBuffer(size.endpointsMax * Uint32Array.BYTES_PER_ELEMENT),
  };
}
