/**
 * Picks for one pool in one worker: policy, candidate table and what is learned of its requests.
 *
 * Order of a pick: routing header, priority against saturation, subset, filters that may refuse,
 * the best trust class, preferences, strategy. Without subset and filters the candidates are the
 * table's ready-made list, so a sampling strategy's cost does not grow with the pool.
 */
import type { PoolUpdate } from '../endpoint.ts';
import type { Random } from '../random.ts';
import type { PickResult, RequestFacts, Wait, Waiter } from '../scheduler.ts';
import { type CacheListener, CandidateTable } from './candidates/candidate-table.ts';
import type { GaugeSource } from './candidates/gauge-source.ts';
import type { Ledger } from './candidates/ledger.ts';
import type { LedgerHistory } from './candidates/ledger-history.ts';
import { PrefillRate } from './candidates/prefill-phase.ts';
import type { PromptMatch } from './candidates/prompt-match.ts';
import { RunningMeans } from './candidates/request-means.ts';
import { isFeedFailing, isPoolSaturated } from './candidates/saturation.ts';
import type { UpstreamFailures } from './candidates/upstream-failures.ts';
import { PoolFlowControl } from './flow-control/pool-flow-control.ts';
import { keepMostTrusted } from './parts/filter/fresh.ts';
import { membersOfSubset } from './parts/filter/subset.ts';
import type { PickContext, Strategy } from './parts/part.ts';
import {
  type NamedFilter,
  objectiveHeaderBefore,
  objectiveHeaderDefault,
  type PoolPolicy,
  routingHeader,
} from './policy/policy.ts';

/** What the pools of a worker share. */
export interface WorkerParts {
  source: GaugeSource;
  ledger: Ledger;
  history: LedgerHistory;
  failures: UpstreamFailures;
  prompt: PromptMatch;
  random: Random;
  caches: CacheListener;
}

/** `position` when nobody could be picked; the reason is in the pick. */
export const nobody = -1;

export class PoolScheduler implements PickContext {
  readonly name: string;
  /** Tells this pool's tickets from others'; never used twice in a worker. */
  readonly number: number;
  readonly table: CandidateTable;
  readonly ledger: Ledger;
  readonly prompt: PromptMatch;
  readonly means = new RunningMeans();
  readonly prefill = new PrefillRate();
  readonly random: Random;
  policy: PoolPolicy;
  request!: RequestFacts;
  nowMs = 0;
  isFallback = false;
  /** Picks by strategy, and refusals by reason, for metrics. */
  readonly outcomes = new Map<string, number>();
  /** Picks of endpoints that were not fresh. */
  lastResortPicks = 0;
  /** `undefined`: requests are picked for as they come. */
  flowControl: PoolFlowControl | undefined;
  #objectives: Readonly<Record<string, number>> = {};
  #candidates = new Int32Array(0);

  constructor(name: string, number: number, parts: WorkerParts, policy: PoolPolicy) {
    this.name = name;
    this.number = number;
    this.table = new CandidateTable(parts.source, parts.history, parts.failures, parts.caches);
    this.ledger = parts.ledger;
    this.prompt = parts.prompt;
    this.random = parts.random;
    this.policy = policy;
    this.table.staleAfterMs = policy.staleAfterMs;
    this.#useFlowControl();
  }

  /** Takes over a membership. */
  update(update: PoolUpdate, nowMs: number): void {
    this.#objectives = update.objectives;
    this.table.update(update.endpoints, nowMs);
    this.#candidates = new Int32Array(update.endpoints.length);
  }

  /** Swaps the policy between two picks. */
  use(policy: PoolPolicy, nowMs: number): void {
    this.policy = policy;
    this.table.staleAfterMs = policy.staleAfterMs;
    this.table.resolve(nowMs);
    this.#useFlowControl();
  }

  /** The pool is no longer served. */
  close(): void {
    this.flowControl?.queue.endAll('rejected-no-endpoints');
  }

  /** See `Scheduler.admit`. */
  admit(request: RequestFacts, heldBytes: number, waiter: Waiter): Wait | undefined {
    // What computes nothing takes nobody's place.
    if (this.flowControl === undefined || !request.computes) return undefined;
    return this.flowControl.admit(request, this.#priorityOf(request), heldBytes, waiter);
  }

  /**
   * Chooses a position for the request, or {@link nobody} with status, reason and retry time
   * written into `into`.
   */
  choose(request: RequestFacts, into: PickResult): number {
    this.request = request;
    this.nowMs = request.nowMs;
    this.prompt.begin(request);
    const strategy = this.#strategyFor(request);
    if (strategy === undefined) return refuse(into, 'bad_request', 'routing_strategy', 0);
    if (this.#isShed(request)) {
      return refuse(into, 'shed', 'saturated', this.policy.retryAfterS);
    }
    const count = this.#collect(request);
    if (count === 0) {
      const reason = this.table.count === 0 ? 'pool_empty' : emptyReason(request);
      return refuse(into, 'no_endpoint', reason, this.policy.retryAfterS);
    }
    const at = count === 1 ? 0 : strategy.choose(this, this.#candidates, count);
    const position = this.#candidates[at]!;
    into.destination = this.table.endpoints[position]!.destination;
    if (this.policy.fallbacks > 0) this.#addFallbacks(strategy, at, count, into);
    return position;
  }

  /** Appends the next best endpoints: the strategy's choices once the earlier ones are gone. */
  #addFallbacks(strategy: Strategy, picked: number, count: number, into: PickResult): void {
    let left = count;
    let at = picked;
    this.isFallback = true;
    for (let i = 0; i < this.policy.fallbacks && left > 1; i++) {
      left--;
      this.#candidates[at] = this.#candidates[left]!;
      at = strategy.choose(this, this.#candidates, left);
      into.destination += `,${this.table.endpoints[this.#candidates[at]!]!.destination}`;
    }
    this.isFallback = false;
  }

  /** Takes flow control over from the policy. Who waits while it is switched off is picked for. */
  #useFlowControl(): void {
    const config = this.policy.flowControl;
    const before = this.flowControl;
    if (config === undefined) {
      this.flowControl = undefined;
      before?.open();
    } else if (before === undefined) this.flowControl = new PoolFlowControl(this, config);
    else before.configure(config);
  }

  /** Where requests can wait, none is refused for what an engine has waiting. */
  #isShed(request: RequestFacts): boolean {
    if (this.flowControl !== undefined || this.#priorityOf(request) >= 0) return false;
    return isPoolSaturated(this.table, this.policy.saturation);
  }

  #strategyFor(request: RequestFacts): Strategy | undefined {
    const { selectable, strategy } = this.policy;
    if (selectable.size === 0) return strategy;
    const name = request.header(routingHeader);
    return name === undefined || name === '' ? strategy : selectable.get(name);
  }

  #priorityOf(request: RequestFacts): number {
    const { header, values } = this.policy.priority;
    let objective = request.header(header);
    if (objective === undefined && header === objectiveHeaderDefault) {
      objective = request.header(objectiveHeaderBefore);
    }
    if (objective === undefined) return 0;
    // The value is a client's: it must not name a property that every object has.
    if (Object.hasOwn(this.#objectives, objective)) return this.#objectives[objective]!;
    return Object.hasOwn(values, objective) ? values[objective]! : 0;
  }

  /** Fills the candidate list; returns how many there are. */
  #collect(request: RequestFacts): number {
    const { table } = this;
    const { filters } = this.policy;
    const candidates = this.#candidates;
    const spills = isFeedFailing(table, this.policy.saturation);
    if (request.subset === undefined && filters.length === 0 && !spills) {
      candidates.set(table.preferred);
      return table.preferredCount;
    }
    let count = membersOfSubset(table, request.subset, candidates);
    for (const filter of filters) {
      if (!filter.isPreference) count = this.#apply(filter, count);
    }
    count = keepMostTrusted(table, candidates, count, spills);
    for (const filter of filters) {
      if (!filter.isPreference || count === 0) continue;
      // What a preference moves to the back stays in the list, so it can be undone.
      const kept = this.#apply(filter, count);
      if (kept > 0) count = kept;
    }
    return count;
  }

  #apply(filter: NamedFilter, count: number): number {
    return filter.filter.filter(this, this.#candidates, count);
  }
}

function emptyReason(request: RequestFacts): string {
  return request.subset === undefined ? 'filtered' : 'subset';
}

function refuse(
  into: PickResult,
  status: PickResult['status'],
  reason: string,
  retryAfterS: number,
): number {
  into.status = status;
  into.reason = reason;
  into.retryAfterS = retryAfterS;
  into.destination = '';
  into.endpoint = undefined;
  into.ticket = -1;
  return nobody;
}
