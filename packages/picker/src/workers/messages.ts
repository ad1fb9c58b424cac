/**
 * What the main thread and its ext_proc threads share and tell each other. Everything here is
 * cloneable; the memory is shared, never copied.
 */
import type { TlsIdentity } from '../ext-proc/transport/http2-server.ts';
import type { InFlightShape } from '../in-flight/table.ts';
import type { PoolUpdate } from '../pool/endpoint.ts';

/** Numbers that every thread of the process may read at any time. */
export interface SharedMemory {
  view: SharedArrayBuffer;
  inFlight: SharedArrayBuffer;
  inFlightShape: InFlightShape;
  /** Picks since the start, one u32 per endpoint position. */
  picks: SharedArrayBuffer;
}

export type ToWorker =
  | { type: 'pools'; updates: PoolUpdate[]; removed: string[] }
  | { type: 'identity'; identity: TlsIdentity }
  | { type: 'serving'; notReady: string | undefined }
  | { type: 'drain'; noticeMs: number; graceMs: number };

export type FromWorker = { type: 'listening'; ports: number[] } | { type: 'drained' };
