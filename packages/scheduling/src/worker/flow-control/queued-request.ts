/** What a request says of its turn, read once when it begins to wait. */
import type { RequestFacts, Waiter, WaitOutcome } from '../../scheduler.ts';
import type { HeldRequest } from './held-request.ts';

/** The flow that a request belongs to, where the configuration names no header of its own. */
export const flowHeaderDefault = 'x-llm-d-inference-fairness-id';
/** Its former name. */
const flowHeaderBefore = 'x-gateway-inference-fairness-id';
/** By when a client wants its first token, ms from its arrival. */
const deadlineHeaders = ['x-llm-d-slo-ttft-ms', 'x-slo-ttft-ms'];
/** A day: no client waits for longer, and a larger number must not become the past. */
const deadlineMsMax = 86_400_000;
/** Headers and objects that a waiting request keeps alive beside its body. */
const ownBytes = 4_096;

export interface QueuedFacts {
  priority: number;
  flowHeader: string;
  promptTokens: number;
  heldBytes: number;
  retryAfterS: number;
}

export class QueuedRequest implements HeldRequest {
  readonly priority: number;
  readonly flowId: string;
  readonly bytes: number;
  readonly promptTokens: number;
  readonly arrivedAtMs: number;
  readonly deadlineMs: number;
  readonly #waiter: Waiter;
  readonly #retryAfterS: number;

  constructor(request: RequestFacts, facts: QueuedFacts, waiter: Waiter) {
    this.priority = facts.priority;
    this.flowId = flowIdOf(request, facts.flowHeader);
    this.bytes = facts.heldBytes + ownBytes;
    this.promptTokens = facts.promptTokens;
    this.arrivedAtMs = request.nowMs;
    this.deadlineMs = request.nowMs + deadlineOf(request);
    this.#waiter = waiter;
    this.#retryAfterS = facts.retryAfterS;
  }

  ended(outcome: WaitOutcome): void {
    if (outcome !== 'cancelled') this.#waiter.waitEnded(outcome, this.#retryAfterS);
  }
}

function flowIdOf(request: RequestFacts, header: string): string {
  const id = request.header(header);
  if (id !== undefined || header !== flowHeaderDefault) return id ?? '';
  return request.header(flowHeaderBefore) ?? '';
}

function deadlineOf(request: RequestFacts): number {
  for (const name of deadlineHeaders) {
    const text = request.header(name)?.trim();
    if (text === undefined || text === '') continue;
    const ms = Number(text);
    if (ms >= 0) return Math.min(ms, deadlineMsMax);
  }
  return Number.POSITIVE_INFINITY;
}
