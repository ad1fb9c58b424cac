/** What the scheduling parts of the main thread and of the workers tell each other. Cloneable. */
import type { SchedulingConfig } from '../scheduling-config.ts';

export type SchedulingToWorker =
  /** Use this configuration from the next pick on; answered by `scheduling-configured`. */
  | { type: 'scheduling'; version: number; config: SchedulingConfig }
  /** Answered by `scheduling-snapshot`. */
  | { type: 'scheduling-snapshot' };

export type SchedulingFromWorker =
  /** `problem`: the configuration was refused, the last one stays in use. */
  | { type: 'scheduling-configured'; version: number; problem: string | undefined }
  /** A user's part was switched off for a pool. */
  | { type: 'scheduling-fault'; pool: string; part: string; problem: string }
  | { type: 'scheduling-snapshot'; snapshot: SchedulingSnapshot };

/** Numbers of one worker since its start. */
export interface SchedulingSnapshot {
  pools: PoolSnapshot[];
  /** Requests in flight, and those not counted for want of room. */
  openTickets: number;
  overflowedTickets: number;
}

/** Waiting requests of one priority, in one worker or added up. */
export interface BandSnapshot {
  priority: number;
  requests: number;
  bytes: number;
  /** Uncached prompt tokens, as estimated. */
  tokens: number;
  /** How long the one that came first has waited, ms; NaN: nobody waits. */
  oldestMs: number;
  /** Ends of waiting by outcome, ever. */
  outcomes: Record<string, number>;
  /** The flows with the most waiting requests. */
  flows: { flow: string; requests: number }[];
}

export interface FlowControlSnapshot {
  /** No endpoint has fresh numbers: the gate goes by requests in flight alone. */
  isBlind: boolean;
  /** Highest priority first. */
  bands: BandSnapshot[];
}

export interface PoolSnapshot {
  pool: string;
  strategy: string;
  /** Picks by strategy name, or by the reason why nobody was picked. */
  outcomes: Record<string, number>;
  lastResortPicks: number;
  /** Reports that stated another address than their member's. */
  foreignReports: number;
  /** LoRA adapters for which there was no room in the pool's table. */
  droppedAdapters: number;
  fresh: number;
  stale: number;
  suspect: number;
  sleeping: number;
  unreachable: number;
  isSaturated: boolean;
  /** `undefined`: off. */
  flowControl: FlowControlSnapshot | undefined;
}
