/** What all exchanges of one worker share: parts, options, and objects reused per message. */

import { emptyPick, type PickResult, type Scheduler } from '@leadsman/scheduling/scheduler';
import type { BodyMode } from '../body-mode.ts';
import type { ByteBudget } from '../byte-budget.ts';
import type { Counters } from '../counters.ts';
import type { RequestRegistry } from '../in-flight/request-registry.ts';
import type { PoolSelector } from '../pool-selector.ts';
import { ProcessingRequest } from '../protobuf/processing-request.ts';
import type { RateLimitedLog } from '../rate-limited-log.ts';
import type { BodyReaders } from '../request/body-reader.ts';
import { PickReplies } from './pick-replies.ts';
import { ReusedFacts } from './reused-facts.ts';

export interface ExchangeOptions {
  /** Used where a gateway does not send `protocol_config`. */
  requestBodyMode: BodyMode;
  responseBodyMode: BodyMode;
  /** Body bytes that are held or decoded for a pick, of one request. */
  bodyBytesMax: number;
  /** A larger body: pick without having read it, or refuse it with 413. */
  bodyAboveMax: 'pick' | 'refuse';
  /** How long a pick may wait for the body, from the request headers on. */
  decisionTimeoutMs: number;
  /** After that: pick with what is known, or refuse with 504. */
  atDecisionTimeout: 'pick' | 'refuse';
  /** Obey and answer the headers of the conformance suite. Never in production. */
  conformance: boolean;
}

/** An exchange that waits for a body, as the deadline sweep sees it. */
export interface Waiting {
  readonly sinceMs: number;
  expire(): void;
}

export interface ExchangeParts {
  options: ExchangeOptions;
  scheduler: Scheduler;
  pools: PoolSelector;
  readers: BodyReaders;
  budget: ByteBudget;
  registry: RequestRegistry;
  counters: Counters;
  log: RateLimitedLog;
  nowMs: () => number;
}

export class ExchangeContext {
  readonly options: ExchangeOptions;
  readonly scheduler: Scheduler;
  readonly pools: PoolSelector;
  readonly readers: BodyReaders;
  readonly budget: ByteBudget;
  readonly registry: RequestRegistry;
  readonly counters: Counters;
  readonly log: RateLimitedLog;
  readonly nowMs: () => number;
  /** In order of arrival, so the oldest come first. */
  readonly waiting = new Set<Waiting>();
  readonly replies = new PickReplies();
  readonly decoded = new ProcessingRequest();
  readonly pick: PickResult = emptyPick();
  readonly facts = new ReusedFacts();

  constructor(parts: ExchangeParts) {
    this.options = parts.options;
    this.scheduler = parts.scheduler;
    this.pools = parts.pools;
    this.readers = parts.readers;
    this.budget = parts.budget;
    this.registry = parts.registry;
    this.counters = parts.counters;
    this.log = parts.log;
    this.nowMs = parts.nowMs;
  }

  /** Lets exchanges decide that have waited too long for their bodies. */
  sweep(): void {
    const before = this.nowMs() - this.options.decisionTimeoutMs;
    for (const waiting of this.waiting) {
      if (waiting.sinceMs > before) return;
      this.waiting.delete(waiting);
      waiting.expire();
    }
  }
}
