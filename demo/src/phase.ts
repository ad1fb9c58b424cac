/**
 * One run of the traffic under one strategy. Each phase sends the same requests at the same times,
 * so that what differs is the picks.
 */
import {
  ChatClient,
  type ChatResult,
  type PlannedRequest,
  planTraffic,
  quantile,
  SeededRandom,
  sendPlan,
  type TrafficShape,
} from '@leadsman/testing';
import type { DemoOptions } from './options.ts';

/** Sizes that make a request last half a second on an engine of the demo. */
function trafficShape(options: DemoOptions): TrafficShape {
  return {
    requestsPerSecond: options.requestsPerSecond,
    durationMs: options.phaseMs,
    promptTokensMean: 150,
    outputTokensMean: 24,
  };
}

export function trafficPlan(options: DemoOptions): PlannedRequest[] {
  return planTraffic(trafficShape(options), new SeededRandom(options.seed));
}

export class Phase {
  readonly strategy: string;
  readonly firstTokensMs: number[] = [];
  readonly failures: string[] = [];
  /** Requests by the engine that got them; set when the phase has ended. */
  picks: readonly number[] = [];
  done = 0;
  /** Requests whose time has come. */
  sent = 0;
  startedMs = Number.NaN;

  constructor(strategy: string) {
    this.strategy = strategy;
  }

  /** Sends the plan to the gateway; resolves when the last request has ended. */
  async run(
    url: string,
    plan: readonly PlannedRequest[],
    now: () => number,
    signal: AbortSignal,
  ): Promise<void> {
    const client = new ChatClient(url, { now });
    this.startedMs = now();
    const close = () => void client.close();
    signal.addEventListener('abort', close);
    try {
      await sendPlan(client, plan, {
        onSent: () => this.sent++,
        onResult: (result) => this.#take(result, signal),
        signal,
      });
    } finally {
      signal.removeEventListener('abort', close);
      await client.close();
    }
  }

  firstTokenMs(q: number): number {
    return quantile(this.firstTokensMs, q);
  }

  #take(result: ChatResult, signal: AbortSignal): void {
    // Stopping breaks requests off; that is no failure of the system.
    if (signal.aborted) return;
    this.done++;
    if (result.failure !== undefined) this.failures.push(result.failure);
    if (!Number.isNaN(result.firstTokenMs)) this.firstTokensMs.push(result.firstTokenMs);
  }
}
