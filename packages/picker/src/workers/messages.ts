/**
 * What the main thread and its ext_proc threads share and tell each other. Everything here is
 * cloneable; the memory is shared, never copied.
 */

import type { ExtProcOptions } from '@leadsman/ext-proc/server/server';
import type { TlsIdentity } from '@leadsman/ext-proc/transport/http2-server';
import type { PoolUpdate } from '@leadsman/scheduling/endpoint';
import type { SchedulingConfig } from '@leadsman/scheduling/scheduling-config';
import type { InFlightShape } from '@leadsman/scheduling/shared/in-flight-table';
import type {
  SchedulingFromWorker,
  SchedulingToWorker,
} from '@leadsman/scheduling/shared/messages';
import type { SchedulingMemory } from '@leadsman/scheduling/shared/shared-memory';
import type { LogLevel } from '@leadsman/service';

/** Numbers that every thread of the process may read at any time. */
export interface SharedMemory {
  view: SharedArrayBuffer;
  inFlight: SharedArrayBuffer;
  inFlightShape: InFlightShape;
  /** Requests that streams of other threads may join (in-flight/shared-requests.ts). */
  requests: SharedArrayBuffer;
  /** Picks since the start, one u32 per endpoint position. */
  picks: SharedArrayBuffer;
  scheduling: SchedulingMemory;
  /** Counters of the ext_proc server, one buffer per thread. */
  counters: SharedArrayBuffer[];
}

/** `workerData` of an ext_proc thread. */
export interface WorkerData {
  worker: number;
  shared: SharedMemory;
  extProc: ExtProcOptions;
  config: SchedulingConfig;
  logLevel: LogLevel;
}

export type ToWorker =
  | { type: 'pools'; updates: PoolUpdate[]; removed: string[] }
  | { type: 'identity'; identity: TlsIdentity }
  | { type: 'ready'; ready: boolean }
  | { type: 'drain'; noticeMs: number; graceMs: number }
  | SchedulingToWorker;

export type FromWorker =
  | { type: 'listening'; ports: readonly number[] }
  | { type: 'drained' }
  | SchedulingFromWorker;
