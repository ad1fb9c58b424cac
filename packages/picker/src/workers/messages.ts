/**
 * What the main thread and its ext_proc threads share and tell each other. Everything here is
 * cloneable; the memory is shared, never copied.
 */
import type { LogLevel } from '@leadsman/service';
import type { SchedulingConfig } from '../config/scheduling-config.ts';
import type { ExtProcOptions } from '../ext-proc/server.ts';
import type { TlsIdentity } from '../ext-proc/transport/http2-server.ts';
import type { InFlightShape } from '../in-flight/table.ts';
import type { PoolUpdate } from '../pool/endpoint.ts';
import type { SchedulingMemory } from '../scheduling/shared-memory.ts';
import type { SchedulingFromWorker, SchedulingToWorker } from '../scheduling/worker-messages.ts';

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
