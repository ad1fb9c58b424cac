/**
 * A worker's private table of one pool: who may be picked, and what is known of each.
 *
 * The membership is swapped whole by {@link CandidateTable.update}; the numbers are taken over
 * from the gauge source by {@link CandidateTable.refresh}, at most every few milliseconds, so
 * that a pick reads flat arrays and nothing else.
 *
 * Cost: a refresh touches the slots that changed, plus one pass over the trust classes (1,000
 * endpoints about 2 µs); nothing is allocated unless the membership changed.
 *
 * A report that states another address than its member is not the member's: whoever sends it may
 * know the pod's UID, but is not where requests go. It counts as none, and is counted.
 *
 * Invariants: `preferred` lists the best trust class that has members, never a mix; the load
 * columns of an endpoint that is not fresh are NaN (its unseen load 0), so no part can use them.
 */

import {
  isLoadKnown,
  staleAfterMsDefault,
  trust,
  trustClasses,
  trustOf,
} from '@leadsman/view/trust';
import {
  type Attributes,
  addressBytes,
  metric,
  parseHostPort,
  reason,
  reportFlag,
  writeAddress,
} from '@leadsman/wire';
import type { Endpoint } from '../../endpoint.ts';
import { hashText } from '../../prefix/hash-text.ts';
import { AdapterStates } from './adapter-states.ts';
import { blankOf, type CandidateColumns, floatColumns } from './candidate-columns.ts';
import { learnBatch } from './full-batch.ts';
import type { GaugeSource } from './gauge-source.ts';
import type { LedgerHistory } from './ledger-history.ts';
import { reportedLoad } from './reported-load.ts';
import { SpeedLearner } from './speed.ts';
import type { UpstreamFailures } from './upstream-failures.ts';

/** Hears what endpoints, by in-flight index, report of their caches; NaN = unknown. */
export interface CacheListener {
  /** The KV capacity is another than before. */
  capacity(index: number, kvCapacityTokens: number): void;
  /**
   * The engine's counters of prompt tokens found in its prefix cache and asked for, and whether
   * requests wait in it.
   */
  hits(index: number, hitsTotal: number, queriesTotal: number, waits: boolean): void;
}

export class CandidateTable implements CandidateColumns {
  count = 0;
  endpoints: readonly Endpoint[] = [];
  index = new Int32Array(0);
  identityHash = new Int32Array(0);
  trust = new Uint8Array(0);
  runningRequests = new Float64Array(0);
  waitingRequests = new Float64Array(0);
  kvCacheUsageRatio = new Float64Array(0);
  kvCacheUsageMaxRatio = new Float64Array(0);
  kvCacheCapacityTokens = new Float64Array(0);
  loraSlotsMax = new Float64Array(0);
  measuredAtMs = new Float64Array(0);
  unseenRequests = new Float64Array(0);
  unseenWaiting = new Float64Array(0);
  reportedLoad = new Float64Array(0);
  ledgerAtReport = new Float64Array(0);
  fullBatch = new Float64Array(0);
  interTokenMs = new Float64Array(0);
  speed = new Float64Array(0);
  /** Positions of the best trust class that has members, and how many there are. */
  preferred = new Int32Array(0);
  preferredCount = 0;
  /** Members by trust class. */
  readonly classCounts = new Int32Array(trustClasses);
  readonly adapters = new AdapterStates();
  staleAfterMs = staleAfterMsDefault;
  /** Reports that stated another address than their member's. */
  foreignReports = 0;
  readonly #caches: CacheListener;
  readonly #source: GaugeSource;
  readonly #history: LedgerHistory;
  readonly #failures: UpstreamFailures;
  readonly #speed = new SpeedLearner();
  #slots = new Int32Array(0);
  /** Members' addresses as on the wire, four words each. */
  #addresses = new Int32Array(0);
  /** 1 while the newest report of a member comes from another address. */
  #isForeign = new Uint8Array(0);
  #positionOfSlot = new Int32Array(0);
  /** Positions by canonical address. */
  #positionsByAddress = new Map<string, number[]>();
  /** Position + 1 by in-flight index, 0 for none. */
  #positionByIndex = new Int32Array(0);

  constructor(
    source: GaugeSource,
    history: LedgerHistory,
    failures: UpstreamFailures,
    caches: CacheListener,
  ) {
    this.#source = source;
    this.#history = history;
    this.#failures = failures;
    this.#caches = caches;
  }

  /** Swaps the membership. What was learned of endpoints that stay is carried over. */
  update(endpoints: readonly Endpoint[], nowMs: number): void {
    const kept = endpoints.map((endpoint) => {
      const before = this.positionOf(endpoint.index);
      const old = this.endpoints[before];
      return old?.podKey === endpoint.podKey && old.port === endpoint.port ? before : -1;
    });
    for (const name of floatColumns) {
      const from = this[name];
      const blank = blankOf(name);
      this[name] = Float64Array.from(kept, (before) => (before < 0 ? blank : from[before]!));
    }
    this.#speed.carryOver(kept);
    this.adapters.carryOver(kept);
    this.index = Int32Array.from(endpoints, (endpoint) => endpoint.index);
    this.identityHash = Int32Array.from(endpoints, ({ podKey, port }) =>
      hashText(`${podKey}/${port}`),
    );
    this.trust = new Uint8Array(endpoints.length).fill(trust.stale);
    this.preferred = new Int32Array(endpoints.length);
    this.#addresses = addressesOf(endpoints);
    this.#isForeign = new Uint8Array(endpoints.length);
    this.endpoints = endpoints;
    this.count = endpoints.length;
    const indexes = 1 + this.index.reduce((highest, index) => Math.max(highest, index), -1);
    this.#positionByIndex = new Int32Array(indexes);
    this.#indexAddresses();
    this.#history.reserve(indexes);
    this.resolve(nowMs);
  }

  /** Finds every endpoint's slot anew, after the source said that identities changed. */
  resolve(nowMs: number): void {
    this.#slots = new Int32Array(this.count);
    this.#positionOfSlot = new Int32Array(this.#source.slots).fill(-1);
    for (let position = 0; position < this.count; position++) {
      const endpoint = this.endpoints[position]!;
      const slot = this.#source.slotOf(endpoint.podKey, endpoint.port);
      this.#slots[position] = slot;
      if (slot >= 0) {
        this.#positionOfSlot[slot] = position;
        this.#take(position, slot);
      }
    }
    this.readAdapters(nowMs);
    this.classify(nowMs);
  }

  /** Reads the adapters of all endpoints anew, after the source said that attributes changed. */
  readAdapters(nowMs: number): void {
    const attributesOf = (position: number): Attributes | undefined => {
      const slot = this.#slots[position]!;
      return slot < 0 ? undefined : this.#source.attributes(slot);
    };
    this.adapters.rebuild(this.count, attributesOf, nowMs);
  }

  /** Takes over the slots that the source names as changed. */
  takeChanged(): void {
    const { changed, changedCount } = this.#source;
    for (let i = 0; i < changedCount; i++) {
      const slot = changed[i]!;
      const position = slot < this.#positionOfSlot.length ? this.#positionOfSlot[slot]! : -1;
      if (position >= 0) this.#take(position, slot);
    }
  }

  /** Sorts the endpoints into trust classes as of `nowMs`. */
  classify(nowMs: number): void {
    const counts = this.classCounts.fill(0);
    for (let position = 0; position < this.count; position++) {
      const slot = this.#slots[position]!;
      const isForeign = this.#isForeign[position] === 1;
      const isHeard = slot >= 0 && this.#source.isUsed(slot) && !isForeign;
      const flags = isHeard ? this.#source.flags(slot) : 0;
      const measuredAtMs = this.measuredAtMs[position]!;
      const scrapeReason = this.#failures.isOut(this.index[position]!, measuredAtMs)
        ? reason.connect
        : isHeard
          ? this.#source.reason(slot)
          : reason.pending;
      // Gauges that stand still prove nothing of an engine that has nothing to do for us: some show
      // their last batch for half a minute. Its numbers are no load then, and the ledger tells.
      const isQuiet =
        (flags & reportFlag.suspect) !== 0 &&
        this.#history.requestsNow(this.index[position]!) === 0;
      const ageMs = nowMs - measuredAtMs;
      const isKnown =
        isHeard && isLoadKnown(this.runningRequests[position]!, this.waitingRequests[position]!);
      const own = isQuiet ? flags & ~reportFlag.suspect : flags;
      const found = trustOf(own, scrapeReason, isKnown, ageMs, this.staleAfterMs);
      this.trust[position] = found;
      if (found !== trust.fresh || isQuiet) this.#blank(position);
      counts[found]!++;
    }
    let best = 0;
    while (best < trustClasses - 1 && counts[best] === 0) best++;
    this.preferredCount = 0;
    for (let position = 0; position < this.count; position++) {
      if (this.trust[position] === best) this.preferred[this.preferredCount++] = position;
    }
  }

  /** Learns relative speeds; call about once a second. */
  learnSpeeds(): void {
    this.#speed.apply(this);
  }

  /**
   * Writes the positions that a gateway's subset names (`ip:port`, or a bare `ip` as any of its
   * ports; IPv6 with and without brackets, each in any spelling) into `into`, which holds `count`
   * entries, each once. Returns how many.
   */
  subset(entries: readonly string[], into: Int32Array): number {
    const found = new Set<number>();
    for (const entry of entries) {
      const named = parseHostPort(entry.trim());
      if (named === undefined) continue;
      for (const position of this.#positionsByAddress.get(named.address) ?? []) {
        const { port } = this.endpoints[position]!;
        if (named.port === undefined || named.port === port) found.add(position);
      }
    }
    let written = 0;
    for (const position of found) into[written++] = position;
    return written;
  }

  /** The position of the endpoint at `ip:port`, in any notation; -1 when it is not a member. */
  positionAt(destination: string): number {
    const named = parseHostPort(destination);
    if (named?.port === undefined) return -1;
    for (const position of this.#positionsByAddress.get(named.address) ?? []) {
      if (this.endpoints[position]!.port === named.port) return position;
    }
    return -1;
  }

  /** The position of an in-flight index, -1 when it is not a member. */
  positionOf(index: number): number {
    return (this.#positionByIndex[index] ?? 0) - 1;
  }

  /** Ledger requests that the latest report cannot have in it. */
  sentSinceReport(position: number): number {
    const now = this.#history.requestsNow(this.index[position]!);
    return Math.max(0, now - this.ledgerAtReport[position]!);
  }

  /** One number of the position's newest report by its place in `metric`; NaN = unknown. */
  reportedNumber(position: number, number: number): number {
    const slot = this.#slots[position]!;
    return slot < 0 ? Number.NaN : this.#source.numberOf(slot, number);
  }

  /** Makes every part abstain from an endpoint whose numbers are no longer to be believed. */
  #blank(position: number): void {
    this.unseenRequests[position] = 0;
    this.unseenWaiting[position] = 0;
    this.reportedLoad[position] = 0;
    this.kvCacheUsageRatio[position] = Number.NaN;
    this.kvCacheUsageMaxRatio[position] = Number.NaN;
    this.runningRequests[position] = Number.NaN;
    this.waitingRequests[position] = Number.NaN;
  }

  #take(position: number, slot: number): void {
    const source = this.#source;
    const isForeign = !source.isAt(slot, this.#addresses, position * 4);
    this.#isForeign[position] = isForeign ? 1 : 0;
    if (isForeign) {
      this.foreignReports++;
      return;
    }
    const measuredAtMs = source.measuredAtMs(slot);
    const running = source.numberOf(slot, metric.runningRequests);
    const waiting = source.numberOf(slot, metric.waitingRequests);
    const ledger = this.#history.requestsAt(this.index[position]!, measuredAtMs);
    const unseen = Math.max(0, zeroIfUnknown(running) + zeroIfUnknown(waiting) - ledger);
    this.measuredAtMs[position] = measuredAtMs;
    this.runningRequests[position] = running;
    this.waitingRequests[position] = waiting;
    this.ledgerAtReport[position] = ledger;
    this.fullBatch[position] = learnBatch(this.fullBatch[position]!, running, waiting);
    const unseenWaiting = Math.min(unseen, zeroIfUnknown(waiting));
    const usage = source.numberOf(slot, metric.kvCacheUsageRatio);
    this.unseenRequests[position] = unseen;
    this.unseenWaiting[position] = unseenWaiting;
    this.reportedLoad[position] = reportedLoad(unseen, unseenWaiting, usage);
    const fullest = source.numberOf(slot, metric.kvCacheUsageMaxRatio);
    this.kvCacheUsageRatio[position] = usage;
    this.kvCacheUsageMaxRatio[position] = Number.isNaN(fullest) ? usage : fullest;
    const capacity = source.numberOf(slot, metric.kvCacheCapacityTokens);
    if (!Object.is(capacity, this.kvCacheCapacityTokens[position])) {
      this.kvCacheCapacityTokens[position] = capacity;
      this.#caches.capacity(this.index[position]!, capacity);
    }
    this.#caches.hits(
      this.index[position]!,
      source.numberOf(slot, metric.prefixCacheHitsTotal),
      source.numberOf(slot, metric.prefixCacheQueriesTotal),
      waiting > 0,
    );
    this.loraSlotsMax[position] = source.numberOf(slot, metric.loraSlotsMax);
    this.interTokenMs[position] = this.#speed.observe(
      position,
      source.numberOf(slot, metric.interTokenSecondsSum),
      source.numberOf(slot, metric.interTokenCount),
      this.interTokenMs[position]!,
    );
  }

  #indexAddresses(): void {
    this.#positionsByAddress = new Map();
    for (const [position, endpoint] of this.endpoints.entries()) {
      this.#positionByIndex[endpoint.index] = position + 1;
      const address = parseHostPort(endpoint.address)?.address ?? endpoint.address;
      const list = this.#positionsByAddress.get(address);
      if (list === undefined) this.#positionsByAddress.set(address, [position]);
      else list.push(position);
    }
  }
}

function zeroIfUnknown(value: number): number {
  return Number.isNaN(value) ? 0 : value;
}

function addressesOf(endpoints: readonly Endpoint[]): Int32Array<ArrayBuffer> {
  const bytes = new Uint8Array(endpoints.length * addressBytes);
  for (const [i, { address }] of endpoints.entries())
    writeAddress(address, bytes, i * addressBytes);
  return new Int32Array(bytes.buffer);
}
