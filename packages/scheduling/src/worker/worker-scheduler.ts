/**
 * The scheduler of one worker: pools by name, the refresh of their tables, and the account
 * of requests in flight.
 *
 * ```
 * exchange ──pick──> pool: candidates, strategy ──> ticket in the in-flight table
 *                      ^ refreshed every few ms from the gauge source
 * ```
 *
 * Time comes with each call; nothing here reads a clock or starts a timer. The owner calls
 * {@link WorkerScheduler.tick} about every 10 ms, which also keeps the ledger's history without
 * gaps while no request comes.
 */

import type { PoolUpdate } from '../endpoint.ts';
import type { PrefixIndex } from '../prefix/prefix-index.ts';
import type { Random } from '../random.ts';
import type { Outcome, PickResult, RequestFacts, Scheduler, Wait, Waiter } from '../scheduler.ts';
import type { HistoryWriter } from '../shared/history-ring.ts';
import type { InFlightTable } from '../shared/in-flight-table.ts';
import type { GaugeSource } from './candidates/gauge-source.ts';
import { Ledger } from './candidates/ledger.ts';
import { LedgerHistory } from './candidates/ledger-history.ts';
import { PrefillDeadlines } from './candidates/prefill-phase.ts';
import { PromptMatch } from './candidates/prompt-match.ts';
import { SentPrompts } from './candidates/sent-prompts.ts';
import { grown, slotsMax, Tickets } from './candidates/tickets.ts';
import { UpstreamFailures } from './candidates/upstream-failures.ts';
import type { PoolPolicy } from './policy/policy.ts';
import { nobody, PoolScheduler, type WorkerParts } from './pool-scheduler.ts';

export interface WorkerSchedulerOptions {
  source: GaugeSource;
  inFlight: InFlightTable;
  /** Shared words of the other replicas' requests, see ledger.ts. */
  remote: ArrayBufferLike;
  prefixIndex: PrefixIndex;
  /** Where routing history for the other replicas goes; `undefined` without replicas. */
  history: HistoryWriter | undefined;
  random: Random;
  /** Builds the policy of a pool; called again for every pool after {@link WorkerScheduler.use}. */
  policyFor: PolicyFor;
  /** Least time between two refreshes of the tables, ms. */
  refreshMs?: number;
}

export type PolicyFor = (pool: string) => PoolPolicy;

const refreshMsDefault = 5;
/** Speeds move over seconds; the median they need is a sort of the whole pool. */
const speedIntervalMs = 1_000;
const historyIntervalMs = 9;
/**
 * Engines with adapters change their lists with almost every request; reading those of 1,000
 * endpoints takes a millisecond, and an adapter stays loaded for far longer than this.
 */
const adaptersIntervalMs = 100;

export class WorkerScheduler implements Scheduler {
  readonly tickets: Tickets;
  readonly #options: WorkerSchedulerOptions;
  readonly #parts: WorkerParts;
  readonly #prefills = new PrefillDeadlines();
  readonly #sent = new SentPrompts();
  /** When each ticket was taken and behind how many prompt tokens, by its slot; NaN: no stream. */
  #takenAtMs = new Float64Array(256);
  #waitedTokens = new Int32Array(256);
  readonly #pools = new Map<string, PoolScheduler>();
  readonly #poolByNumber = new Map<number, PoolScheduler>();
  #poolsMade = 0;
  readonly #refreshMs: number;
  #policyFor: PolicyFor;
  #attributesChanged = false;
  #adaptersReadAtMs = Number.NEGATIVE_INFINITY;
  #refreshedAtMs = Number.NEGATIVE_INFINITY;
  #recordedAtMs = Number.NEGATIVE_INFINITY;
  #learnedAtMs = Number.NEGATIVE_INFINITY;
  /** The newest time that a call brought. */
  #nowMs = Number.NEGATIVE_INFINITY;

  constructor(options: WorkerSchedulerOptions) {
    this.#options = options;
    this.#policyFor = options.policyFor;
    this.#refreshMs = options.refreshMs ?? refreshMsDefault;
    this.tickets = new Tickets(options.inFlight);
    const ledger = new Ledger(options.inFlight, options.remote);
    this.#parts = {
      source: options.source,
      ledger,
      history: new LedgerHistory(ledger),
      failures: new UpstreamFailures(),
      prompt: new PromptMatch(options.prefixIndex),
      random: options.random,
      caches: {
        capacity: (index, tokens) => options.prefixIndex.blocks.setCapacity(index, tokens),
        hits: (index, hits, queries, waits) =>
          options.prefixIndex.feedback.observe(index, hits, queries, waits),
      },
    };
  }

  /** Pools by name, for metrics and `explain`. */
  get pools(): ReadonlyMap<string, PoolScheduler> {
    return this.#pools;
  }

  /** A pool is new, or its membership changed. */
  updatePool(update: PoolUpdate, nowMs: number): void {
    let pool = this.#pools.get(update.pool);
    if (pool === undefined) {
      const policy = this.#policyFor(update.pool);
      pool = new PoolScheduler(update.pool, ++this.#poolsMade, this.#parts, policy);
      this.#pools.set(pool.name, pool);
      this.#poolByNumber.set(pool.number, pool);
    }
    // Slots that appeared since the last refresh must be found by the new members.
    this.#refresh(nowMs);
    pool.update(update, nowMs);
    pool.flowControl?.dispatch();
  }

  /** A pool is no longer served. Its requests in flight are released as they end. */
  removePool(name: string): void {
    const pool = this.#pools.get(name);
    if (pool === undefined) return;
    this.#pools.delete(name);
    this.#poolByNumber.delete(pool.number);
    pool.close();
  }

  /** Swaps the configuration of all pools between two picks; open exchanges are not touched. */
  use(policyFor: PolicyFor, nowMs: number): void {
    const built = [...this.#pools.values()].map((pool) => ({ pool, policy: policyFor(pool.name) }));
    this.#policyFor = policyFor;
    for (const { pool, policy } of built) pool.use(policy, nowMs);
  }

  /** Keeps tables and history current; call about every 10 ms. */
  tick(nowMs: number): void {
    this.#nowMs = nowMs;
    this.#endPrefills(nowMs);
    if (nowMs - this.#recordedAtMs >= historyIntervalMs) {
      this.#recordedAtMs = nowMs;
      this.#parts.history.record(nowMs);
    }
    if (nowMs - this.#refreshedAtMs >= this.#refreshMs) this.#refresh(nowMs);
    for (const { flowControl } of this.#pools.values()) flowControl?.tick(nowMs);
    if (nowMs - this.#learnedAtMs < speedIntervalMs) return;
    this.#learnedAtMs = nowMs;
    for (const pool of this.#pools.values()) pool.table.learnSpeeds();
  }

  admit(request: RequestFacts, heldBytes: number, waiter: Waiter): Wait | undefined {
    const pool = this.#pools.get(request.poolName);
    if (pool?.flowControl === undefined) return undefined;
    const { nowMs } = request;
    this.#nowMs = nowMs;
    if (nowMs - this.#refreshedAtMs >= this.#refreshMs) this.#refresh(nowMs);
    return pool.admit(request, heldBytes, waiter);
  }

  endWaits(): void {
    for (const { flowControl } of this.#pools.values()) flowControl?.drain();
  }

  pick(request: RequestFacts, into: PickResult): void {
    const { nowMs } = request;
    this.#nowMs = nowMs;
    if (nowMs - this.#refreshedAtMs >= this.#refreshMs) this.#refresh(nowMs);
    const pool = this.#pools.get(request.poolName);
    if (pool === undefined) {
      into.status = 'unknown_pool';
      into.reason = 'unknown_pool';
      into.destination = '';
      into.endpoint = undefined;
      into.ticket = -1;
      into.retryAfterS = 1;
      return;
    }
    const position = pool.choose(request, into);
    if (position !== nobody) this.#send(pool, request, position, into);
    count(pool.outcomes, position === nobody ? into.reason : pool.policy.strategyName);
  }

  servedBy(ticket: number, destination: string): string | undefined {
    const own = this.#poolByNumber.get(this.tickets.poolOf(ticket));
    if (own !== undefined && this.#moveWithin(own, ticket, destination)) return own.name;
    for (const pool of this.#pools.values()) {
      if (pool !== own && this.#moveWithin(pool, ticket, destination)) return pool.name;
    }
    return undefined;
  }

  firstToken(ticket: number): void {
    const index = this.tickets.endpointOf(ticket);
    if (index >= 0) this.#parts.failures.answered(index);
    if (!this.tickets.firstToken(ticket)) return;
    const slot = ticket % slotsMax;
    const pool = this.#poolByNumber.get(this.tickets.poolOf(ticket));
    pool?.prefill.learn(this.#waitedTokens[slot]!, this.#nowMs - this.#takenAtMs[slot]!);
  }

  withdraw(ticket: number): void {
    if (ticket >= 0) this.#sent.withdraw(ticket, this.#options.prefixIndex);
  }

  upstreamFailed(ticket: number): void {
    const index = this.tickets.endpointOf(ticket);
    if (index < 0) return;
    this.withdraw(ticket);
    this.#parts.failures.failed(index, this.#nowMs);
    for (const { table } of this.#pools.values()) {
      if (table.positionOf(index) >= 0) table.classify(this.#nowMs);
    }
  }

  release(ticket: number, outcome: Outcome): void {
    const pool = this.#poolByNumber.get(this.tickets.poolOf(ticket));
    const index = this.tickets.endpointOf(ticket);
    if (!this.tickets.release(ticket)) return;
    pool?.flowControl?.released(ticket, outcome.outputTokens, outcome.aborted);
    if (!(outcome.outputTokens >= 0)) return;
    pool?.means.ended(outcome.outputTokens);
    // Other replicas do not tell how long answers were; theirs are taken to be as ours.
    const replicas = 1 + this.#parts.ledger.otherReplicas;
    this.#options.prefixIndex.blocks.fillAnonymous(index, replicas * outcome.outputTokens);
  }

  #refresh(nowMs: number): void {
    const { source } = this.#parts;
    const changed = source.refresh();
    if (changed) this.#attributesChanged = true;
    const readsAdapters =
      this.#attributesChanged && nowMs - this.#adaptersReadAtMs >= adaptersIntervalMs;
    for (const { table } of this.#pools.values()) {
      if (changed && source.identitiesChanged) {
        table.resolve(nowMs);
        continue;
      }
      table.takeChanged();
      if (readsAdapters) table.readAdapters(nowMs);
      table.classify(nowMs);
    }
    if (readsAdapters) {
      this.#attributesChanged = false;
      this.#adaptersReadAtMs = nowMs;
    }
    this.#refreshedAtMs = nowMs;
  }

  #moveWithin(pool: PoolScheduler, ticket: number, destination: string): boolean {
    const { table } = pool;
    const position = table.positionAt(destination);
    if (position < 0) return false;
    const index = table.index[position]!;
    if (index === this.tickets.endpointOf(ticket)) return true;
    // The picked endpoint never saw the prompt.
    this.withdraw(ticket);
    this.tickets.move(ticket, index);
    return true;
  }

  #send(pool: PoolScheduler, request: RequestFacts, position: number, into: PickResult): void {
    const { table } = pool;
    // Only adapters that an engine has named: clients may send any text as a model.
    if (table.adapters.isKnown(request.model)) {
      table.adapters.markSent(request.model, position, request.nowMs);
    }
    into.status = 'picked';
    into.reason = table.trust[position] === 0 ? '' : 'last_resort';
    if (into.reason !== '') pool.lastResortPicks++;
    into.endpoint = table.endpoints[position];
    into.ticket = request.computes ? this.#charge(pool, request, table.index[position]!) : -1;
    into.retryAfterS = 0;
    if (into.ticket >= 0) pool.flowControl?.started(into.ticket);
  }

  /** Counts the request at the endpoint with this in-flight index; returns its ticket. */
  #charge(pool: PoolScheduler, request: RequestFacts, index: number): number {
    const { prompt, means, policy } = pool;
    const promptTokens = request.promptTokens > 0 ? request.promptTokens : means.promptTokens;
    if (!policy.recordsPrompts) {
      if (request.promptTokens > 0) means.sent(promptTokens, promptTokens);
      return this.#take(pool, request, index, promptTokens, promptTokens);
    }
    const { prefixIndex, history } = this.#options;
    const blocks = prompt.blocks();
    const uncached = Math.max(0, promptTokens - prompt.matchedTokens(index));
    prefixIndex.feedback.expect(index, promptTokens - uncached, promptTokens);
    const held = prefixIndex.match(index, blocks);
    const recent = prefixIndex.enter(index, blocks);
    history?.write(index, blocks, recent);
    if (request.promptTokens > 0) means.sent(promptTokens, uncached);
    const ticket = this.#take(pool, request, index, uncached, promptTokens);
    this.#sent.remember(ticket, blocks, held, index, prefixIndex);
    return ticket;
  }

  #take(
    pool: PoolScheduler,
    request: RequestFacts,
    index: number,
    uncached: number,
    promptTokens: number,
  ): number {
    const { nowMs } = request;
    const ticket = this.tickets.take(pool.number, index, uncached, promptTokens);
    if (ticket < 0) return ticket;
    const slot = ticket % slotsMax;
    if (slot >= this.#takenAtMs.length) this.#growTaken(slot);
    const waiting = this.#parts.ledger.pendingTokens(index);
    this.#takenAtMs[slot] = request.streaming ? nowMs : Number.NaN;
    this.#waitedTokens[slot] = waiting;
    if (request.streaming) return ticket;
    const { msPerToken } = pool.prefill;
    // Without room for an estimate the shortest one is taken.
    if (!this.#prefills.add(ticket, nowMs, waiting, msPerToken)) this.tickets.firstToken(ticket);
    return ticket;
  }

  #endPrefills(nowMs: number): void {
    for (let ticket = this.#prefills.take(nowMs); ticket >= 0; ) {
      this.tickets.firstToken(ticket);
      ticket = this.#prefills.take(nowMs);
    }
  }

  #growTaken(slot: number): void {
    const size = Math.min(slotsMax, 2 ** Math.ceil(Math.log2(slot + 1)));
    const times = new Float64Array(size);
    times.set(this.#takenAtMs);
    this.#takenAtMs = times;
    this.#waitedTokens = grown(this.#waitedTokens, size);
  }
}

function count(outcomes: Map<string, number>, name: string): void {
  outcomes.set(name, (outcomes.get(name) ?? 0) + 1);
}
