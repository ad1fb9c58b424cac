/**
 * The default strategy: send a request to where the least work stands before and within it.
 *
 * For an endpoint i, in prefill tokens (the weights are in parameters.ts):
 *
 * ```
 *   J = (Q + M + ω·u + (β + λ·v)·D + γ·K) / s + κ·max(0, K + p + ō − 0.85·C) + L
 *
 *   p, u  prompt tokens of this request; those of them that i has not cached, by the prefix index
 *   Q     uncached prompt tokens of requests at i without a first token: the ledger's, plus ū for
 *         each waiting request in i's report that no ledger knew of at the time of the report
 *   M     a guess at what the other replicas sent since they last told: half of what we did, each
 *   D     requests at i past their first token: the ledger's, plus the reported, unknown ones
 *   v     what u exceeds eight times ū by: a long prompt stalls all who decode beside it
 *   s     speed of i against its pool, learned
 *   K, C  KV tokens in use (reported, plus what was sent since; at least the ledger's prompts),
 *         and the capacity
 *   γ     0 unless configured, see parameters.ts
 *   L     work of loading the request's LoRA adapter where it has not been seen
 *   ū, ō  running means of uncached prompt tokens and of output tokens
 * ```
 *
 * The least J wins among a few endpoints drawn at random and those that used the prefix last;
 * equal ones at random. Drawing, rather than comparing all, keeps replicas from all choosing the
 * same endpoint at the same moment, and makes the cost of a pick independent of the pool's size.
 *
 * Needs: the ledger. Reports, prefix index and speeds improve it; what is missing drops out of
 * the sum, so without any of them it is "least outstanding prompt tokens".
 *
 * Cost: at most 17 endpoints with 8 loads and a bisection of the prefix each, plus one pass over
 * the candidates that marks them; no allocation.
 */

import { holdersMax } from '../../../prefix/block-holders.ts';
import { adapterState } from '../../candidates/adapter-states.ts';
import { sentSinceReport } from '../expected-load.ts';
import type { PickContext, Strategy } from '../part.ts';
import { CandidateMarks } from './candidate-marks.ts';
import { type ExpectedWorkParameters, expectedWorkParameters } from './parameters.ts';
import { RecentSends } from './recent-sends.ts';

/** Endpoints with the request's adapter that are looked at. */
const loadedMax = 4;
/** Later than this, other replicas' requests are not counted at all. */
const unheardMsMax = 100;

export class ExpectedWork implements Strategy {
  readonly #p: ExpectedWorkParameters;
  readonly #recent = new RecentSends();
  readonly #holders = new Int32Array(holdersMax);
  readonly #marks = new CandidateMarks();
  #best = -1;
  #bestWork = Number.POSITIVE_INFINITY;
  #ties = 0;
  #requestId = '';

  constructor(parameters: ExpectedWorkParameters = expectedWorkParameters) {
    this.#p = parameters;
  }

  choose(context: PickContext, candidates: Int32Array, count: number): number {
    this.#best = -1;
    this.#bestWork = Number.POSITIVE_INFINITY;
    const unheardMs = Math.min(unheardMsMax, context.ledger.shareDelayMs);
    this.#recent.expire(context.nowMs - unheardMs);
    if (count <= this.#p.samples) {
      for (let i = 0; i < count; i++) this.#consider(context, candidates, i);
    } else {
      for (let i = 0; i < this.#p.samples; i++) {
        this.#consider(context, candidates, Math.floor(context.random() * count));
      }
      this.#considerHolders(context, candidates, count);
      if (isAdapter(context)) this.#considerLoaded(context, candidates, count);
    }
    this.#noteSend(context, candidates[this.#best]!);
    return this.#best;
  }

  /** The work J of the request at a position of the table, in prefill tokens; always finite. */
  workOf(context: PickContext, position: number): number {
    const { table, ledger, means } = context;
    const p = this.#p;
    const index = table.index[position]!;
    const unseenWaiting = table.unseenWaiting[position]!;
    const queued = ledger.pendingTokens(index) + unseenWaiting * means.uncachedTokens;
    const unheard = p.unheardWeight * ledger.otherReplicas * this.#recent.tokens(index);
    const decoding = ledger.decoding(index) + table.unseenRequests[position]! - unseenWaiting;
    const own = uncachedTokens(context, index);
    const kvTokens = kvTokensInUse(context, position);
    const stalling = Math.max(0, own - p.stallFromMeans * means.uncachedTokens);
    const work =
      queued +
      unheard +
      p.ownWeight * own +
      (p.decodingTokens + p.stallWeight * stalling) * decoding +
      p.kvTokenWeight * kvTokens;
    return (
      work / table.speed[position]! +
      p.kvOverflowWeight * this.#kvOverflowTokens(context, position, kvTokens) +
      this.#adapterTokens(context, position)
    );
  }

  /** The choice will be sent there; later choices for the same request are fallbacks. */
  #noteSend(context: PickContext, position: number): void {
    const { requestId } = context.request;
    if (requestId !== '' && requestId === this.#requestId) return;
    this.#requestId = requestId;
    const index = context.table.index[position]!;
    this.#recent.add(index, uncachedTokens(context, index), context.nowMs);
  }

  #consider(context: PickContext, candidates: Int32Array, slot: number): void {
    if (slot === this.#best) return;
    const work = this.workOf(context, candidates[slot]!);
    if (work > this.#bestWork) return;
    if (work === this.#bestWork) {
      this.#ties++;
      if (context.random() * (this.#ties + 1) >= 1) return;
    } else {
      this.#ties = 0;
    }
    this.#best = slot;
    this.#bestWork = work;
  }

  #considerHolders(context: PickContext, candidates: Int32Array, count: number): void {
    const found = context.prompt.latestHolders(this.#holders);
    if (found === 0) return;
    // Holders are of all pools and members; only those that passed the filters may be picked.
    const { table } = context;
    this.#marks.begin(candidates, count, table.count);
    for (let i = 0; i < found; i++) {
      const position = table.positionOf(this.#holders[i]!);
      const slot = position < 0 ? -1 : this.#marks.slotOf(position);
      if (slot >= 0) this.#consider(context, candidates, slot);
    }
  }

  /** A few of the endpoints that have the adapter, which chance alone may all miss. */
  #considerLoaded(context: PickContext, candidates: Int32Array, count: number): void {
    const { table, request, nowMs } = context;
    const start = Math.floor(context.random() * count);
    let found = 0;
    for (let i = 0; i < count && found < loadedMax; i++) {
      const slot = (start + i) % count;
      const state = table.adapters.stateOf(request.model, candidates[slot]!, nowMs);
      if (state !== adapterState.running && state !== adapterState.seen) continue;
      found++;
      this.#consider(context, candidates, slot);
    }
  }

  /** Tokens by which the KV cache would be fuller than is safe; 0 where its size is unknown. */
  #kvOverflowTokens(context: PickContext, position: number, kvTokens: number): number {
    const capacity = context.table.kvCacheCapacityTokens[position]!;
    if (!(capacity > 0)) return 0;
    const planned = kvTokens + promptTokens(context) + context.means.outputTokens;
    return Math.max(0, planned - this.#p.kvSafeRatio * capacity);
  }

  #adapterTokens(context: PickContext, position: number): number {
    if (!isAdapter(context)) return 0;
    const { table, request, nowMs } = context;
    const state = table.adapters.stateOf(request.model, position, nowMs);
    if (state !== adapterState.notSeen) return 0;
    const isFull = table.adapters.active[position]! >= table.loraSlotsMax[position]!;
    return isFull ? this.#p.adapterSwapTokens : this.#p.adapterLoadTokens;
  }
}

/** KV tokens in use: as reported and sent since, but no less than the prompts in the ledger. */
function kvTokensInUse(context: PickContext, position: number): number {
  const { table, ledger, means } = context;
  const inLedger = ledger.promptTokens(table.index[position]!);
  const reported =
    table.kvCacheUsageRatio[position]! * table.kvCacheCapacityTokens[position]! +
    sentSinceReport(context, position) * means.uncachedTokens;
  return Number.isNaN(reported) ? inLedger : Math.max(reported, inLedger);
}

/** Prompt tokens of the request; the mean where nothing is known of it. */
function promptTokens(context: PickContext): number {
  const { promptTokens } = context.request;
  return promptTokens > 0 ? promptTokens : context.means.uncachedTokens;
}

/** Those that the endpoint must compute: at least one, since sampling needs the last. */
function uncachedTokens(context: PickContext, index: number): number {
  return Math.max(1, promptTokens(context) - context.prompt.matchedTokens(index));
}

function isAdapter(context: PickContext): boolean {
  const { table, request } = context;
  return table.adapters.isKnown(request.model) && !table.adapters.isBaseModel(request.model);
}
