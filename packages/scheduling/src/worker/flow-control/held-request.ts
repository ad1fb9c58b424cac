/**
 * A request that waits for its pick, and how its waiting ends. Made by the exchange, owned by the
 * queue from the moment it was accepted until `ended` was called, which happens exactly once.
 */

import type { WaitOutcome } from '../../scheduler.ts';

/** What the queue must know of a request. Numbers are finite; the caller clamps what clients say. */
export interface HeldRequest {
  /** Higher first; below 0 it is sheddable. */
  readonly priority: number;
  /** Who it is for, as the client says; '' is a flow as well. */
  readonly flowId: string;
  /** Memory it holds while it waits. */
  readonly bytes: number;
  /** Uncached prompt tokens, the part of its cost that is known before it runs. */
  readonly promptTokens: number;
  /** When it began to wait; the caller's monotonic clock, ms. */
  readonly arrivedAtMs: number;
  /** By when its first token is wanted, on the same clock; Infinity: no wish. */
  readonly deadlineMs: number;
  /** Called once, synchronously, from within a call to the queue. Must not throw. */
  ended(outcome: WaitOutcome): void;
}
