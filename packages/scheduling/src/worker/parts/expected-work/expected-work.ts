/**
 * The default strategy: send a request to where the least work stands before and within it.
 *
 * For an endpoint i, in prefill tokens (the weights are in parameters.ts):
 *
 * ```
 *   J = (Q + M + ω·u' + (β + λ·ι·(1 + h)·u')·R + δ·ō·T) / s + κ·min(p + ō, max(0, K + p + ō − 0.85·C)) + L
 *   ω = ω0 + ω1·W̄      ι = 1/(1 + W̄)      T = 2·a·R + b·(K + (p + ō/2)·R)
 *
 *   p, u  prompt tokens of this request; those of them that i has not cached, by the prefix index
 *   u'    u, less what warming i for a popular beginning is worth to others (warming.ts)
 *   Q     uncached prompt tokens of requests at i without a first token: the ledger's, plus ū for
 *         each waiting request in i's report that no ledger knew of at the time of the report
 *   M     a guess at what the other replicas sent since they last told: half of what we did, each
 *   R     requests at i from their pick on: the ledger's, plus the reported, unknown ones
 *   W̄     requests without a first token, in the mean of the endpoints compared
 *   ι     share of the time in which they compute no prompts, as in a queue of random arrivals
 *         with W̄ requests in the mean
 *   h     share of prompt tokens that are found in caches
 *   T     what decoding beside each other costs per token of an answer: a for a sequence and b for a
 *         token of context in each step, of those who run there to this request and of it to them
 *   s     speed of i against its pool, learned
 *   K, C  KV tokens in use (reported, plus what was sent since; at least the ledger's prompts),
 *         and the capacity
 *   L     work of loading the request's LoRA adapter where it has not been seen
 *   ū, ō  running means of uncached prompt tokens and of output tokens
 * ```
 *
 * Tokens computed delay all who wait behind them, so their weight follows the load of the pool: on
 * an idle one a cache hit is worth the tokens saved, on a full one it is worth them for everybody.
 * They delay those who decode beside them, too, but where prompts wait everywhere those stand still
 * wherever this one goes: what can be spared them falls with the load.
 *
 * The least J wins, equal ones at random: among all endpoints of a pool of up to 64; in larger ones
 * among some drawn at random, which makes the cost of a pick independent of the pool's size and
 * keeps replicas from choosing the same one at the same moment, and those that used the prefix last.
 *
 * Needs: the ledger. Reports, prefix index and speeds improve it; what is missing drops out of
 * the sum, so without any of them it is "least outstanding prompt tokens".
 *
 * Cost: at most 64 endpoints with 8 loads and a bisection of the prefix each; in a large pool 24, and
 * one pass over the candidates that marks them. No allocation.
 */

import { holdersMax } from '../../../prefix/block-holders.ts';
import { adapterState } from '../../candidates/adapter-states.ts';
import { sentSinceReport } from '../expected-load.ts';
import type { PickContext, Strategy } from '../part.ts';
import { CandidateMarks } from './candidate-marks.ts';
import { type ExpectedWorkParameters, expectedWorkParameters } from './parameters.ts';
import { RecentSends } from './recent-sends.ts';
import { Warming } from './warming.ts';

/** Endpoints with the request's adapter that are looked at. */
const loadedMax = 4;
/** Later than this, other replicas' requests are not counted at all. */
const unheardMsMax = 100;

export class ExpectedWork implements Strategy {
  readonly #p: ExpectedWorkParameters;
  readonly #recent = new RecentSends();
  readonly #holders = new Int32Array(holdersMax);
  readonly #marks = new CandidateMarks();
  readonly #warming = new Warming();
  /** Slots that are compared, and the prompt tokens that each has cached. */
  #slots = new Int32Array(64);
  #matched = new Float64Array(64);
  #compared = 0;
  /** Share of the time in which the compared endpoints compute no prompt, 0..1. */
  #idleShare = 1;

  constructor(parameters: ExpectedWorkParameters = expectedWorkParameters) {
    this.#p = parameters;
  }

  choose(context: PickContext, candidates: Int32Array, count: number): number {
    const { table } = context;
    const unheardMs = Math.min(unheardMsMax, context.ledger.shareDelayMs);
    this.#recent.expire(context.nowMs - unheardMs);
    this.#select(context, candidates, count);
    let waiting = 0;
    for (let i = 0; i < this.#compared; i++) {
      const position = candidates[this.#slots[i]!]!;
      this.#matched[i] = context.prompt.matchedTokens(table.index[position]!);
      waiting += waitingRequests(context, position);
    }
    const meanWaiting = waiting / this.#compared;
    this.#idleShare = 1 / (1 + meanWaiting);
    const ownWeight = this.#p.ownWeight + this.#p.waitingWeight * meanWaiting;
    this.#warming.begin(context, this.#matched, this.#compared, count);
    let best = 0;
    let leastWork = Number.POSITIVE_INFINITY;
    let ties = 1;
    for (let i = 0; i < this.#compared; i++) {
      const work = this.#work(context, candidates[this.#slots[i]!]!, this.#matched[i]!, ownWeight);
      if (work < leastWork) {
        leastWork = work;
        best = i;
        ties = 1;
      } else if (work === leastWork && context.random() * ++ties < 1) {
        best = i;
      }
    }
    const slot = this.#slots[best]!;
    this.#noteSend(context, candidates[slot]!, this.#matched[best]!);
    return slot;
  }

  /** The work J of the request at a position of the table, in prefill tokens; always finite. */
  #work(context: PickContext, position: number, matched: number, ownWeight: number): number {
    const { table, ledger, means } = context;
    const p = this.#p;
    const index = table.index[position]!;
    const unseenWaiting = table.unseenWaiting[position]!;
    const queued = ledger.pendingTokens(index) + unseenWaiting * means.uncachedTokens;
    const others = p.unheardWeight * ledger.otherReplicas;
    const requests =
      ledger.requests(index) + table.unseenRequests[position]! + others * this.#recent.sends(index);
    const prompt = promptTokens(context);
    // At least one token is computed everywhere: sampling needs the last.
    const own = Math.max(1, prompt - matched);
    const charged = Math.max(1, own - this.#warming.discount(matched));
    const kvTokens = kvTokensInUse(context, position);
    // A block computed here pushes out another, as likely to be used again as blocks are found.
    const reuse = 1 - means.uncachedTokens / means.promptTokens;
    const stalling = p.stallWeight * this.#idleShare * (1 + reuse) * charged;
    const contextTokens = prompt + means.outputTokens / 2;
    const stepTokens =
      p.sequenceStepTokens * 2 * requests + p.kvStepTokens * (kvTokens + contextTokens * requests);
    const work =
      queued +
      others * this.#recent.tokens(index) +
      ownWeight * charged +
      (p.decodingTokens + stalling) * requests +
      p.decodeWeight * means.outputTokens * stepTokens;
    return (
      work / table.speed[position]! +
      p.kvOverflowWeight * this.#kvOverflowTokens(context, position, kvTokens) +
      this.#adapterTokens(context, position)
    );
  }

  /** Lists the slots to compare: all of a small pool, else some at random and those that promise most. */
  #select(context: PickContext, candidates: Int32Array, count: number): void {
    this.#compared = 0;
    if (count <= this.#p.compareAllMax) {
      for (let slot = 0; slot < count; slot++) this.#add(slot);
      return;
    }
    for (let i = 0; i < this.#p.samples; i++) this.#add(Math.floor(context.random() * count));
    this.#addHolders(context, candidates, count);
    if (isAdapter(context)) this.#addLoaded(context, candidates, count);
  }

  #add(slot: number): void {
    if (this.#compared === this.#slots.length) {
      const slots = new Int32Array(2 * this.#compared);
      slots.set(this.#slots);
      this.#slots = slots;
      this.#matched = new Float64Array(slots.length);
    }
    this.#slots[this.#compared++] = slot;
  }

  #noteSend(context: PickContext, position: number, matched: number): void {
    if (context.isFallback) return;
    const index = context.table.index[position]!;
    this.#recent.add(index, Math.max(1, promptTokens(context) - matched), context.nowMs);
  }

  #addHolders(context: PickContext, candidates: Int32Array, count: number): void {
    const found = context.prompt.latestHolders(this.#holders);
    if (found === 0) return;
    // Holders are of all pools and members; only those that passed the filters may be picked.
    const { table } = context;
    this.#marks.begin(candidates, count, table.count);
    for (let i = 0; i < found; i++) {
      const position = table.positionOf(this.#holders[i]!);
      const slot = position < 0 ? -1 : this.#marks.slotOf(position);
      if (slot >= 0) this.#add(slot);
    }
  }

  /** A few of the endpoints that have the adapter, which chance alone may all miss. */
  #addLoaded(context: PickContext, candidates: Int32Array, count: number): void {
    const { table, request, nowMs } = context;
    const start = Math.floor(context.random() * count);
    let found = 0;
    for (let i = 0; i < count && found < loadedMax; i++) {
      const slot = (start + i) % count;
      const state = table.adapters.stateOf(request.model, candidates[slot]!, nowMs);
      if (state !== adapterState.running && state !== adapterState.seen) continue;
      found++;
      this.#add(slot);
    }
  }

  /**
   * Tokens by which the KV cache would be fuller than is safe, of this request's own at most: what
   * others ask for beyond that waits before it, and is in the queue already. 0 where the size is
   * unknown.
   */
  #kvOverflowTokens(context: PickContext, position: number, kvTokens: number): number {
    const capacity = context.table.kvCacheCapacityTokens[position]!;
    if (!(capacity > 0)) return 0;
    const own = promptTokens(context) + context.means.outputTokens;
    return Math.min(own, Math.max(0, kvTokens + own - this.#p.kvSafeRatio * capacity));
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
  if (Number.isNaN(reported)) return inLedger;
  // What does not fit does not run yet: it is in the queue.
  return Math.min(table.kvCacheCapacityTokens[position]!, Math.max(reported, inLedger));
}

/** Prompt tokens of the request; the mean where nothing is known of it. */
function promptTokens(context: PickContext): number {
  const { promptTokens } = context.request;
  return promptTokens > 0 ? promptTokens : context.means.uncachedTokens;
}

/** Requests at an endpoint that have not shown a first token, as far as is known. */
function waitingRequests(context: PickContext, position: number): number {
  const { table, ledger } = context;
  const index = table.index[position]!;
  const pending = ledger.requests(index) - ledger.decoding(index);
  return Math.max(0, pending) + table.unseenWaiting[position]!;
}

function isAdapter(context: PickContext): boolean {
  const { table, request } = context;
  return table.adapters.isKnown(request.model) && !table.adapters.isBaseModel(request.model);
}
