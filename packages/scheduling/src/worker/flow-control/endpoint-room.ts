/**
 * Whether an endpoint can take one more request without more than about one scheduler step's worth
 * waiting in it.
 *
 * What is in the endpoint now is known at once, from the ledger: requests of all replicas that were
 * sent and have not ended, and those of others as last reported. How many it runs at a time is
 * learned from its reports:
 *
 * ```
 * in flight < batch + ahead   room
 *
 * batch   more than `ahead` wait in it    what it runs now: it is full, by batch size or KV cache
 *         later it runs more than that    that
 *         never seen full                 what is stated, else twice what it runs, at least 32
 *         no fresh numbers                what was learned or is stated, else 64
 * ahead   an eighth of the batch, at least 2
 * ```
 *
 * So a request that ends is replaced within one step, a batch that could be larger grows by an
 * eighth with every report, and reports that are late or missing halt nothing. An endpoint with
 * nothing in it always has room.
 *
 * Cost: a few loads per endpoint, no allocation.
 */
import { metric } from '@leadsman/wire';
import type { CandidateTable } from '../candidates/candidate-table.ts';
import { aheadOf } from '../candidates/full-batch.ts';
import type { Ledger } from '../candidates/ledger.ts';

export interface RoomOptions {
  /** Requests that each endpoint runs at once, where its engine does not say; 0: learn it. */
  batchRequests: number;
  /** An endpoint whose fullest rank is filled to this has no room, 0 to 1. */
  kvCacheUsageRatio: number;
}

/** What an engine is taken to run at least, until it was seen full: small models on small cards. */
const batchUnseenMin = 32;
/**
 * The same where nothing is known at all. Too few would leave engines idle without anybody noticing,
 * too many only queue in the engine, as they do without flow control.
 */
const batchBlind = 64;

export class EndpointRoom {
  options: RoomOptions;
  readonly #table: CandidateTable;
  readonly #ledger: Ledger;

  constructor(table: CandidateTable, ledger: Ledger, options: RoomOptions) {
    this.#table = table;
    this.#ledger = ledger;
    this.options = options;
  }

  /**
   * `meanPromptTokens`: what each request since the report is expected to have added to the KV cache.
   */
  has(position: number, meanPromptTokens: number): boolean {
    const table = this.#table;
    const index = table.index[position]!;
    const inFlight = this.#ledger.requests(index) + table.unseenRequests[position]!;
    if (inFlight <= 0) return true;
    const batch = this.#batchOf(position);
    if (inFlight >= batch + aheadOf(batch)) return false;
    return !this.#isCacheFull(position, meanPromptTokens);
  }

  #batchOf(position: number): number {
    const table = this.#table;
    const running = table.runningRequests[position]!;
    const learned = table.fullBatch[position]!;
    if (!Number.isNaN(learned)) return learned;
    const stated = this.#statedBatch(position);
    if (stated > 0) return stated;
    return Number.isNaN(running) ? batchBlind : Math.max(batchUnseenMin, 2 * running);
  }

  #statedBatch(position: number): number {
    const stated = this.#table.reportedNumber(position, metric.runningMax);
    return stated > 0 ? stated : this.options.batchRequests;
  }

  #isCacheFull(position: number, meanPromptTokens: number): boolean {
    const table = this.#table;
    const usage = table.kvCacheUsageMaxRatio[position]!;
    if (Number.isNaN(usage)) return false;
    const capacity = table.kvCacheCapacityTokens[position]!;
    const sent = table.sentSinceReport(position) * meanPromptTokens;
    const since = capacity > 0 ? sent / capacity : 0;
    return usage + since >= this.options.kvCacheUsageRatio;
  }
}
