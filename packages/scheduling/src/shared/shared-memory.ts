/** The memory that the processes of a picker share for scheduling. */
import type { AllocateShared } from '@leadsman/service/processes/shared-memory';
import { blockTokens } from '../prefix/block-hash.ts';
import { createPrefixBuffer, type PrefixIndexShape } from '../prefix/prefix-index.ts';
import type { PrefixIndexConfig } from '../scheduling-config.ts';
import { createHistoryBuffer } from './history-ring.ts';
import { createRemoteBuffer } from './remote-words.ts';

export interface SchedulingMemory {
  /** Requests in flight of the other replicas (remote-words.ts). */
  remote: ArrayBufferLike;
  prefix: ArrayBufferLike;
  prefixShape: PrefixIndexShape;
  /** One ring per worker (history-ring.ts). */
  histories: ArrayBufferLike[];
}

/** Reserves it, always in this order; the system backs only the pages that are used. */
export function createSchedulingMemory(
  endpointsMax: number,
  workers: number,
  prefixIndex: PrefixIndexConfig,
  allocate?: AllocateShared,
): SchedulingMemory {
  // The index names endpoints by 16 bits; positions beyond are rare and go without it.
  const prefixShape: PrefixIndexShape = {
    endpointsMax: Math.min(endpointsMax, 65_534),
    tokensPerEndpointMax: prefixIndex.tokensPerEndpoint,
    distinctBlocksMax: prefixIndex.distinctBlocks,
    blockTokens,
  };
  return {
    remote: createRemoteBuffer(endpointsMax, allocate),
    prefix: createPrefixBuffer(prefixShape, allocate),
    prefixShape,
    histories: Array.from({ length: workers }, () => createHistoryBuffer(allocate)),
  };
}
