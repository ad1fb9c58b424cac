/**
 * What the main process and its workers tell each other. Everything here can be cloned; the memory
 * they share is laid out alike on both sides (picker-memory.ts).
 */

import type { ExtProcOptions } from '@leadsman/ext-proc/server/server';
import type { TlsIdentity } from '@leadsman/ext-proc/transport/http2-server';
import type { PoolUpdate } from '@leadsman/scheduling/endpoint';
import type { SchedulingConfig } from '@leadsman/scheduling/scheduling-config';
import type {
  SchedulingFromWorker,
  SchedulingToWorker,
} from '@leadsman/scheduling/shared/messages';
import type { LogLevel } from '@leadsman/service';
import type { SharedMemorySize } from './picker-memory.ts';

/** The first message to a worker. */
export interface WorkerStart {
  worker: number;
  memory: SharedMemorySize;
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
