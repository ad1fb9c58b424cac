/**
 * Streams of chat requests: on a timetable, whatever becomes of them (as users do), or as a fixed
 * number of clients of which each sends the next request when the last one has ended.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { SeededRandom } from '../random.ts';
import type { ChatClient, ChatRequest, ChatResult } from './chat-client.ts';

export interface PlannedRequest extends ChatRequest {
  /** From the start of the stream. */
  atMs: number;
}

export interface TrafficShape {
  requestsPerSecond: number;
  durationMs: number;
  /** Means; sizes are exponentially distributed around them and bounded at five times. */
  promptTokensMean: number;
  outputTokensMean: number;
}

/** Arrivals at random (Poisson) with sizes of a heavy tail. Equal seeds give equal plans. */
export function planTraffic(shape: TrafficShape, random: SeededRandom): PlannedRequest[] {
  const plan: PlannedRequest[] = [];
  let atMs = 0;
  for (;;) {
    atMs += random.exponential(1000 / shape.requestsPerSecond);
    if (atMs >= shape.durationMs) return plan;
    const promptTokens = size(random, shape.promptTokensMean);
    plan.push({
      atMs,
      // Its number comes first, so that no prompt is the beginning of another.
      prompt: `Sounding ${plan.length}: ${'by the mark '.repeat(promptTokens)}`.slice(
        0,
        promptTokens * 4,
      ),
      outputTokens: size(random, shape.outputTokensMean),
    });
  }
}

function size(random: SeededRandom, mean: number): number {
  return Math.max(4, Math.round(Math.min(random.exponential(mean), 5 * mean)));
}

export interface PlanOptions {
  onSent?: (request: PlannedRequest) => void;
  onResult?: (result: ChatResult, request: PlannedRequest) => void;
  /** Stops sending when it aborts; what is under way is still waited for. */
  signal?: AbortSignal;
}

/**
 * Sends each request of the plan at its time and resolves with all results when the last has
 * ended.
 */
export async function sendPlan(
  client: ChatClient,
  plan: readonly PlannedRequest[],
  { onSent, onResult, signal }: PlanOptions = {},
): Promise<ChatResult[]> {
  const started = performance.now();
  const pending: Promise<ChatResult>[] = [];
  for (const request of plan) {
    const waitMs = request.atMs - (performance.now() - started);
    if (waitMs > 1) {
      await delay(waitMs, undefined, signal === undefined ? {} : { signal }).catch(() => {});
    }
    if (signal?.aborted) break;
    onSent?.(request);
    pending.push(
      client.send(request).then((result) => {
        onResult?.(result, request);
        return result;
      }),
    );
  }
  return Promise.all(pending);
}

export interface SteadyLoad {
  readonly results: readonly ChatResult[];
  readonly failures: readonly string[];
  /** Lets what is under way end, then resolves. */
  stop(): Promise<void>;
}

/** `clients` of which each sends one request after the other until stopped. */
export function startSteadyLoad(
  client: ChatClient,
  clients: number,
  request: (number: number) => ChatRequest,
): SteadyLoad {
  const results: ChatResult[] = [];
  const failures: string[] = [];
  let running = true;
  let number = 0;
  const loops = Array.from({ length: clients }, async () => {
    while (running) {
      const result = await client.send(request(number++));
      results.push(result);
      if (result.failure === undefined) continue;
      failures.push(result.failure);
      // A gateway that is away answers at once; do not turn that into a storm.
      await delay(20);
    }
  });
  return {
    results,
    failures,
    stop: async () => {
      running = false;
      await Promise.all(loops);
    },
  };
}
