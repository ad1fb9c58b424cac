/** What the benchmark and its sender process tell each other. */
import type { FleetPlan } from './plan.ts';

export type Exporter = 'node' | 'pod';

/** The sender process's task, as JSON in its first argument. */
export interface SenderTask {
  plan: FleetPlan;
  exporter: Exporter;
  natsServers: readonly string[];
  /** Collectors to stream to; empty: NATS. */
  collectors: readonly string[];
  subjectPrefix: string;
  windowMs: number;
}

export type SenderCommand =
  | { type: 'stop' }
  /** Begins the measurement of lateness anew. */
  | { type: 'measure' }
  /** Ends these nodes' agents and begins new ones, as a rolling update does. */
  | { type: 'restart'; nodes: readonly number[] };

export interface SenderStatus {
  type: 'status';
  connected: number;
  senders: number;
  /** Since the process began: CPU in µs, all threads. */
  cpuUs: number;
  rssBytes: number;
  reports: number;
  frames: number;
  frameBytes: number;
  /** Frames that could not leave. */
  dropped: number;
  /** How late a report was made because the process had no CPU: the longest, ms. */
  mostLateMs: number;
}

export interface SenderDone {
  type: 'done';
  /** Count of changes in the last report of each pod. */
  lastCounts: readonly number[];
}

export type SenderMessage = SenderStatus | SenderDone;
