/**
 * The memory that a picker's processes share: the fleet view, the in-flight table, the tables of
 * scheduling, counters and heartbeats. Made once, before any worker.
 *
 * A worker may be killed between any two of its stores, and everything here bears that:
 *
 * | part | writers | a writer dies within a write |
 * |---|---|---|
 * | view | collector | the slot stays odd; its successor empties it |
 * | in flight | workers | the row is taken back, the total is audited (in-flight/table.ts) |
 * | requests | workers | the slot names its owner, and is freed |
 * | picks, counters | workers | one count is there or is not |
 * | remote words | main process | it was the parent: nobody is left |
 * | prefix index | all | advice; words are whole, any mixture of them is allowed |
 * | histories | workers | the record was not published |
 * | heartbeats | workers | the successor begins from 0 |
 */

import { counterBytes } from '@leadsman/ext-proc/counters';
import { createSharedRequestsBuffer } from '@leadsman/ext-proc/in-flight/shared-requests';
import type { PrefixIndexConfig } from '@leadsman/scheduling/scheduling-config';
import {
  createInFlightBuffer,
  type InFlightShape,
} from '@leadsman/scheduling/shared/in-flight-table';
import {
  createSchedulingMemory,
  type SchedulingMemory,
} from '@leadsman/scheduling/shared/shared-memory';
import { createHeartbeat } from '@leadsman/service/processes/heartbeat';
import { type AllocateShared, allocateInProcess } from '@leadsman/service/processes/shared-memory';
import { createView } from '@leadsman/view/layout';

export interface SharedMemorySize {
  endpointsMax: number;
  workers: number;
  prefixIndex: PrefixIndexConfig;
}

/** Numbers that every process of the picker may read at any time. */
export interface PickerMemory {
  view: ArrayBufferLike;
  inFlight: ArrayBufferLike;
  inFlightShape: InFlightShape;
  /** Requests that streams of other workers may join (in-flight/shared-requests.ts). */
  requests: ArrayBufferLike;
  /** Picks since the start, one u32 per endpoint position. */
  picks: ArrayBufferLike;
  scheduling: SchedulingMemory;
  /** Counters of the ext_proc server, one buffer per worker. */
  counters: ArrayBufferLike[];
  /** One per worker. */
  heartbeats: ArrayBufferLike[];
}

/**
 * Lays it out, in the main process and in every worker alike: the same sizes give the same places.
 * Pages are committed when first touched.
 */
export function openPickerMemory(
  size: SharedMemorySize,
  allocate: AllocateShared = allocateInProcess,
): PickerMemory {
  const { endpointsMax, workers } = size;
  const inFlightShape = { endpointsMax, workers };
  const each = <T>(make: () => T): T[] => Array.from({ length: workers }, make);
  return {
    view: createView({ slotsMax: endpointsMax }, allocate),
    inFlight: createInFlightBuffer(inFlightShape, allocate),
    inFlightShape,
    requests: createSharedRequestsBuffer(allocate),
    picks: allocate(endpointsMax * Uint32Array.BYTES_PER_ELEMENT),
    scheduling: createSchedulingMemory(endpointsMax, workers, size.prefixIndex, allocate),
    counters: each(() => allocate(counterBytes)),
    heartbeats: each(() => createHeartbeat(allocate)),
  };
}
