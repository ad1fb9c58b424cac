/**
 * The waiting requests of one priority: fair between its flows, in the configured order within
 * one. Cost: O(log flows + log waiting) per call, no allocation but for a request's own entry.
 *
 * Fairness is start-time fair queueing (Goyal, Vin, Cheng: SIGCOMM 1996) over tokens, the limit
 * of deficit round robin for a small quantum and the "virtual token counter" of LLM serving
 * (Sheng et al.: OSDI 2024): the flow that received the fewest tokens by its weight is next. What a
 * request computes beyond its prompt is charged when it is known, so a flow may owe. A flow that was
 * idle begins at the virtual time of the band: it has saved nothing up, and keeps what it owes.
 */
import type { WaitOutcome } from '../../scheduler.ts';
import { Flow, type Waiting } from './flow.ts';
import { FlowNames } from './flow-names.ts';
import type { HeldRequest } from './held-request.ts';
import { OrderedHeap } from './ordered-heap.ts';
import { type Ordering, orderingKey } from './ordering.ts';

export interface BandOptions {
  ordering: Ordering;
  ageingTokensPerMs: number;
  /** Longest wait, ms; Infinity: none. */
  ttlMs: number;
  requestsMax: number;
  bytesMax: number;
  /** Share of the pool's tokens that this band gets even while higher ones wait, 0 to 1. */
  floorShare: number;
  /** Weight of a flow by its id; 1 unless named. */
  weights: ReadonlyMap<string, number>;
}

export class Band {
  readonly priority: number;
  /** May be swapped; the order within a flow then holds for those that come. */
  options: BandOptions;
  /** Ends of waiting by outcome, refusals at the door included, ever. */
  readonly outcomes = new Map<WaitOutcome, number>();
  /** Waiting requests and their bytes and prompt tokens. */
  requests = 0;
  bytes = 0;
  tokens = 0;
  /** Tokens that the floor share has earned and not spent. */
  floorCredit = 0;
  readonly #names = new FlowNames();
  readonly #flows = new Map<string, Flow>();
  readonly #active = new OrderedHeap<Flow>();
  #virtualTokens = 0;
  #orders = 0;
  #oldest: Waiting | undefined;
  #newest: Waiting | undefined;

  constructor(priority: number, options: BandOptions) {
    this.priority = priority;
    this.options = options;
  }

  /** The request that came first and still waits. */
  get oldestWaiting(): Waiting | undefined {
    return this.#oldest;
  }

  /** The request that came last. */
  get newest(): Waiting | undefined {
    return this.#newest;
  }

  /** The request that is next; `undefined` when none waits. */
  get next(): Waiting | undefined {
    return this.#active.first?.waiting.first;
  }

  /** Waiting requests by flow, for people. */
  waitingByFlow(): { flow: string; requests: number }[] {
    return this.#active.values().map((flow) => ({ flow: flow.id, requests: flow.waiting.size }));
  }

  /** Whether one more request of that size would be within the band's bounds. */
  hasRoom(bytes: number): boolean {
    return this.requests < this.options.requestsMax && this.bytes + bytes <= this.options.bytesMax;
  }

  add(request: HeldRequest): Waiting {
    const flow = this.#flowOf(request.flowId);
    const { ordering, ageingTokensPerMs } = this.options;
    const waiting: Waiting = {
      key: orderingKey(ordering, request, ageingTokensPerMs),
      order: this.#orders++,
      at: -1,
      request,
      flow,
      older: this.#newest,
      newer: undefined,
    };
    if (this.#newest === undefined) this.#oldest = waiting;
    else this.#newest.newer = waiting;
    this.#newest = waiting;
    if (flow.waiting.size === 0) this.#activate(flow);
    flow.waiting.push(waiting);
    this.requests++;
    this.bytes += request.bytes;
    this.tokens += request.promptTokens;
    return waiting;
  }

  /** Takes a request out and tells it why. Ignored when it waits no more. */
  remove(waiting: Waiting, outcome: WaitOutcome): void {
    if (waiting.at < 0) return;
    const { request, flow } = waiting;
    flow.waiting.remove(waiting);
    if (waiting.older === undefined) this.#oldest = waiting.newer;
    else waiting.older.newer = waiting.newer;
    if (waiting.newer === undefined) this.#newest = waiting.older;
    else waiting.newer.older = waiting.older;
    waiting.older = undefined;
    waiting.newer = undefined;
    this.requests--;
    this.bytes -= request.bytes;
    this.tokens -= request.promptTokens;
    if (outcome === 'dispatched') {
      flow.running++;
      this.#virtualTokens = Math.max(this.#virtualTokens, flow.key);
      this.#serve(flow, request.promptTokens);
    }
    if (flow.waiting.size === 0) this.#active.remove(flow);
    this.#forgetIfIdle(flow);
    if (this.requests === 0) this.floorCredit = 0;
    request.ended(outcome);
  }

  /**
   * Charges tokens to a flow that its requests used beyond their prompts, or that other workers
   * and replicas served it. A flow that is not known here begins to owe.
   */
  charge(flowId: string, tokens: number): void {
    if (!(tokens > 0)) return;
    const flow = this.#flowOf(flowId);
    if (flow.waiting.size === 0) flow.key = Math.max(flow.key, this.#virtualTokens);
    this.#serve(flow, tokens);
  }

  /** A dispatched request ended, once; `tokens` it used beyond its prompt. */
  ended({ flow }: Waiting, tokens: number): void {
    if (tokens > 0) this.#serve(flow, tokens);
    if (flow.running > 0) flow.running--;
    this.#forgetIfIdle(flow);
  }

  /** Forgets flows that are idle and owe nothing; call about once a second. */
  sweep(): void {
    for (const flow of this.#flows.values()) this.#forgetIfIdle(flow);
  }

  #serve(flow: Flow, tokens: number): void {
    const isActive = flow.at >= 0;
    if (isActive) this.#active.remove(flow);
    flow.key += tokens / flow.weight;
    if (isActive) this.#active.push(flow);
  }

  #activate(flow: Flow): void {
    flow.key = Math.max(flow.key, this.#virtualTokens);
    flow.order = this.#orders++;
    this.#active.push(flow);
  }

  #flowOf(flowId: string): Flow {
    const key = this.#names.keyOf(flowId);
    let flow = this.#flows.get(key);
    if (flow === undefined) {
      flow = new Flow(key, this.options.weights.get(key) ?? 1);
      this.#flows.set(key, flow);
    }
    return flow;
  }

  #forgetIfIdle(flow: Flow): void {
    if (flow.waiting.size > 0 || flow.running > 0) return;
    // Alone or last, nobody is owed: virtual time stands still without dispatches.
    if (flow.key > this.#virtualTokens && this.#active.size > 0) return;
    this.#flows.delete(flow.id);
    this.#names.forget(flow.id);
  }
}
