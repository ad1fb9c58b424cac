/**
 * A request that waits for its pick, and how its waiting ends. Made by the exchange, owned by the
 * queue from the moment it was accepted until `ended` was called, which happens exactly once.
 */

/**
 * How waiting ends:
 *
 * - `dispatched`: pick for it now
 * - `rejected-saturated`: the queue had no room, or it made room for a higher band (429)
 * - `rejected-ttl-expired`: it waited for as long as its band allows (429)
 * - `rejected-no-endpoints`: no endpoint came in time (503)
 * - `cancelled`: the client is gone, or the exchange ended by itself; nobody is told
 * - `draining`: the process ends (503)
 */
export type WaitOutcome =
  | 'dispatched'
  | 'rejected-saturated'
  | 'rejected-ttl-expired'
  | 'rejected-no-endpoints'
  | 'cancelled'
  | 'draining';

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
