/**
 * Waiting for a condition with a deadline: what tests do instead of sleeping.
 */
import { setTimeout as delay } from 'node:timers/promises';

export interface WaitOptions {
  /** Named in the error when the deadline passes. */
  what: string;
  /** Default 10,000. */
  deadlineMs?: number;
  /** Between two looks; default 20. */
  intervalMs?: number;
  /** Appended to the error: the state that was seen instead. */
  describe?: () => string;
}

/**
 * Calls `probe` until it returns something truthy and returns that. A probe that throws counts as
 * "not yet"; its last error becomes the cause. Throws when the deadline passes.
 */
export async function waitUntil<T>(
  probe: () => T | Promise<T>,
  { what, deadlineMs = 30_000, intervalMs = 20, describe }: WaitOptions,
): Promise<T> {
  const end = performance.now() + deadlineMs;
  let cause: unknown;
  do {
    try {
      const value = await probe();
      if (value) return value;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    await delay(intervalMs);
  } while (performance.now() < end);
  const seen = describe === undefined ? '' : `; ${describe()}`;
  throw new Error(`waited ${deadlineMs} ms for ${what}${seen}`, { cause });
}
