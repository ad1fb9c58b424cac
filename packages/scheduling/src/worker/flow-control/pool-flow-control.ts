/**
 * Flow control of one pool in one worker: a queue before the gate, and the account of what its
 * requests used.
 *
 * ```
 * admit ──> FlowQueue ──turn──> gate open? ──yes──> waiter picks ──> started(ticket)
 *             │  ^ again when a request ended, a report came, 10 ms passed      │
 *             └──ttl, bounds, no endpoint, draining──> refused      released ───┘ charged
 * ```
 *
 * Every request goes through the queue, also when nobody waits: so each is charged to its flow.
 */

import type { RequestFacts, Wait, Waiter } from '../../scheduler.ts';
import type { FlowControlConfig } from '../../scheduling-config.ts';
import type { CandidateTable } from '../candidates/candidate-table.ts';
import type { Ledger } from '../candidates/ledger.ts';
import type { RequestMeans } from '../candidates/request-means.ts';
import type { SaturationLimits } from '../candidates/saturation.ts';
import type { Waiting } from './flow.ts';
import { FlowQueue } from './flow-queue.ts';
import { isBelowShare, shareIntervalMs } from './own-share.ts';
import { PoolGate } from './pool-gate.ts';
import { queueOptionsOf } from './queue-options.ts';
import { QueuedRequest } from './queued-request.ts';

/** What the queue needs of its pool. */
export interface GatedPool {
  readonly table: CandidateTable;
  readonly ledger: Ledger;
  readonly means: RequestMeans;
  readonly policy: { readonly saturation: SaturationLimits; readonly retryAfterS: number };
}

const noWait: Wait = { leave: () => undefined };
/** Flows that owe nothing are forgotten about so often. */
const sweepIntervalMs = 1_000;
const expireIntervalMs = 100;

export class PoolFlowControl {
  readonly queue: FlowQueue;
  readonly gate: PoolGate;
  readonly #pool: GatedPool;
  #config: FlowControlConfig;
  /** Requests that were dispatched and are in flight, by ticket. */
  readonly #running = new Map<number, Waiting>();
  /** The request that is picked for at this moment. */
  #leaving: Waiting | undefined;
  #dispatching = false;
  #isDraining = false;
  #sweptAtMs = Number.NEGATIVE_INFINITY;
  #expiredAtMs = Number.NEGATIVE_INFINITY;
  #sharedAtMs = Number.NEGATIVE_INFINITY;

  constructor(pool: GatedPool, config: FlowControlConfig) {
    this.#pool = pool;
    this.#config = config;
    this.queue = new FlowQueue(queueOptionsOf(config));
    this.gate = new PoolGate(pool.table, pool.ledger, config.gate);
  }

  configure(config: FlowControlConfig): void {
    this.#config = config;
    this.queue.configure(queueOptionsOf(config));
    this.gate.configure(config.gate);
  }

  /** See `Scheduler.admit`. */
  admit(request: RequestFacts, priority: number, heldBytes: number, waiter: Waiter): Wait {
    const { table, policy } = this.#pool;
    const facts = {
      priority,
      flowHeader: this.#config.header,
      promptTokens: this.#uncachedTokens(request),
      heldBytes,
      retryAfterS: policy.retryAfterS,
    };
    const queued = new QueuedRequest(request, facts, waiter);
    if (this.#isDraining) {
      this.queue.refuse(queued, 'draining');
      return noWait;
    }
    if (table.count === 0 && this.#config.noEndpointTtlMs === 0) {
      this.queue.refuse(queued, 'rejected-no-endpoints');
      return noWait;
    }
    const waiting = this.queue.add(queued);
    if (waiting === undefined) return noWait;
    this.dispatch();
    return {
      leave: () => {
        this.queue.end(waiting, 'cancelled');
      },
    };
  }

  /** Lets go whose turn it is, for as long as there is room for one more. */
  dispatch(): void {
    if (this.#dispatching || this.queue.requests === 0) return;
    this.#dispatching = true;
    try {
      for (let next = this.queue.peek(); next !== undefined; next = this.queue.peek()) {
        const { means, policy } = this.#pool;
        if (!this.gate.isOpen(means.uncachedTokens, policy.saturation)) return;
        this.#leave(next);
      }
    } finally {
      this.#dispatching = false;
    }
  }

  /** Keeps time limits and forgets idle flows; call about every 10 ms. */
  tick(nowMs: number): void {
    if (nowMs - this.#expiredAtMs >= expireIntervalMs) {
      this.#expiredAtMs = nowMs;
      this.queue.expire(nowMs, this.#pool.table.count > 0);
    }
    this.dispatch();
    if (nowMs - this.#sharedAtMs >= shareIntervalMs) {
      this.#sharedAtMs = nowMs;
      this.#takeShare(nowMs);
    }
    if (nowMs - this.#sweptAtMs < sweepIntervalMs) return;
    this.#sweptAtMs = nowMs;
    this.queue.sweep();
  }

  /** The request that is leaving was picked for and counted. */
  started(ticket: number): void {
    if (this.#leaving === undefined) return;
    this.#running.set(ticket, this.#leaving);
    this.#leaving = undefined;
  }

  /** A request ended; -1 where its output is unknown. Makes room, perhaps. */
  released(ticket: number, outputTokens: number, aborted: boolean): void {
    const waiting = this.#running.get(ticket);
    if (waiting !== undefined) {
      this.#running.delete(ticket);
      const unknown = aborted ? 0 : this.#pool.means.outputTokens;
      const output = outputTokens >= 0 ? outputTokens : unknown;
      this.queue.ended(waiting, output * this.#config.outputTokenWeight);
    }
    this.dispatch();
  }

  /** See `Scheduler.endWaits`. */
  drain(): void {
    this.#isDraining = true;
    this.queue.endAll('draining');
  }

  /** Everybody who waits is picked for now: the queue is taken away. */
  open(): void {
    for (let next = this.queue.peek(); next !== undefined; next = this.queue.peek()) {
      this.#leave(next);
    }
  }

  #takeShare(nowMs: number): void {
    const next = this.queue.peek();
    if (next === undefined || nowMs - next.request.arrivedAtMs < shareIntervalMs) return;
    const { table, ledger } = this.#pool;
    if (isBelowShare(table, ledger, this.#running.size)) this.#leave(next);
  }

  #leave(next: Waiting): void {
    this.#leaving = next;
    this.queue.dispatch(next);
    // Nobody was picked, or it is not counted: it will not be released.
    if (this.#leaving === undefined) return;
    this.#leaving = undefined;
    this.queue.ended(next, 0);
  }

  /** What of a prompt is not in a cache is only known at the pick; until then, as in the mean. */
  #uncachedTokens(request: RequestFacts): number {
    const { uncachedTokens, promptTokens } = this.#pool.means;
    if (!(request.promptTokens > 0)) return uncachedTokens;
    return request.promptTokens * Math.min(1, uncachedTokens / promptTokens);
  }
}
