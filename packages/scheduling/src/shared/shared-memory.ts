/** The memory that the threads of a picker share for scheduling; made by main, sent to workers. */

import { blockTokens } from '../prefix/block-hash.ts';
import { createPrefixBuffer, type PrefixIndexShape } from '../prefix/prefix-index.ts';
import type { PrefixIndexConfig } from '../scheduling-config.ts';
import { createHistoryBuffer } from './history-ring.ts';
import { createRemoteBuffer } from './remote-words.ts';

export interface SchedulingMemory {
  /** Requests in flight of the other replicas (remote-words.ts). */
  remote: SharedArrayBuffer;
  prefix: SharedArrayBuffer;
  prefixShape: PrefixIndexShape;
  /** One ring per worker (history-ring.ts). */
  histories: SharedArrayBuffer[];
}

/** Reserves it; the system backs only the pages that are used. */
export function createSchedulingMemory(
  endpointsMax: number,
  workers: number,
  prefixIndex: PrefixIndexConfig,
): SchedulingMemory {
  // The index names endpoints by 16 bits; positions beyond are rare and go without it.
  const prefixShape: PrefixIndexShape = {
    endpointsMax: Math.min(endpointsMax, 65_534),
    tokensPerEndpointMax: prefixIndex.tokensPerEndpoint,
    distinctBlocksMax: prefixIndex.distinctBlocks,
    blockTokens,
  };
  return {
    remote: createRemoteBuffer(endpointsMax),
    prefix: createPrefixBuffer(prefixShape),
    prefixShape,
    histories: Array.from({ length: workers }, createHistoryBuffer),
  };
}
