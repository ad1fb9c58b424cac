/** Requests at a steady rate, whatever becomes of them, each with its time. */
import { ChatClient, planTraffic, SeededRandom, sendPlan } from '@leadsman/testing';

export interface Ended {
  /** By performance.now(). */
  sentMs: number;
  totalMs: number;
  failure: string | undefined;
}

export interface Arrivals {
  readonly ended: readonly Ended[];
  /** Sends no more, and resolves when all have ended. */
  stop(): Promise<void>;
}

/** Longer than any part is away, so that a request which merely waits is slow and has not failed. */
const timeoutMs = 40_000;
const durationMsMax = 600_000;

/** Short requests, as each is open for a moment only: what fails is the part's doing. */
export function startArrivals(url: string, requestsPerSecond: number, seed: number): Arrivals {
  const client = new ChatClient(url, { timeoutMs });
  const shape = { requestsPerSecond, durationMs: durationMsMax };
  const sizes = { promptTokensMean: 40, outputTokensMean: 8 };
  const plan = planTraffic({ ...shape, ...sizes }, new SeededRandom(seed));
  const ended: Ended[] = [];
  const stopping = new AbortController();
  const done = sendPlan(client, plan, {
    signal: stopping.signal,
    onResult: ({ failure, totalMs }) => {
      ended.push({ sentMs: performance.now() - totalMs, totalMs, failure });
    },
  });
  return {
    ended,
    stop: async () => {
      stopping.abort();
      await done;
      await client.close();
    },
  };
}
