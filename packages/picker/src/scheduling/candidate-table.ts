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
 * Invariants: `preferred` lists the best trust class that has members, never a mix; the load
 * columns of an endpoint that is not fresh are NaN (its unseen load 0), so no part can use them.
 */
import { type Attributes, metric } from '@leadsman/wire';
import type { Endpoint } from '../pool/endpoint.ts';
import { AdapterStates } from './adapter-states.ts';
import { blankOf, type CandidateColumns, floatColumns } from './candidate-columns.ts';
import { reportedLoad } from './expected-load.ts';
import { staleAfterMsDefault, trust, trustClasses, trustOf } from './freshness.ts';
import type { GaugeSource } from './gauge-source.ts';
import type { LedgerHistory } from './ledger-history.ts';
import { hashText } from './prefix/hash-text.ts';
import { SpeedLearner } from './speed.ts';
import type { UpstreamFailures } from './upstream-failures.ts';

/** Hears of the KV capacity that an endpoint (by in-flight index) tells, NaN unknown. */
export type CapacityListener = (index: number, kvCapacityTokens: number) => void;

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
  interTokenMs = new Float64Array(0);
  speed = new Float64Array(0);
  /** Positions of the best trust class that has members, and how many there are. */
  preferred = new Int32Array(0);
  preferredCount = 0;
  /** Members by trust class. */
  readonly classCounts = new Int32Array(trustClasses);
  readonly adapters = new AdapterStates();
  staleAfterMs = staleAfterMsDefault;
  readonly #onCapacity: CapacityListener;
  readonly #source: GaugeSource;
  readonly #history: LedgerHistory;
  readonly #failures: UpstreamFailures;
  readonly #speed = new SpeedLearner();
  #slots = new Int32Array(0);
  #positionOfSlot = new Int32Array(0);
  #positionByDestination = new Map<string, number>();
  #positionsByAddress = new Map<string, number[]>();
  /** Position + 1 by in-flight index, 0 for none. */
  #positionByIndex = new Int32Array(0);

  constructor(
    source: GaugeSource,
    history: LedgerHistory,
    failures: UpstreamFailures,
    onCapacity: CapacityListener,
  ) {
    this.#source = source;
    this.#history = history;
    this.#failures = failures;
    this.#onCapacity = onCapacity;
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
      const isHeard = slot >= 0 && this.#source.isUsed(slot);
      const flags = isHeard ? this.#source.flags(slot) : 0;
      const ageMs = nowMs - this.measuredAtMs[position]!;
      const isKnown =
        isHeard &&
        this.#isLoadKnown(position) &&
        !this.#failures.isOut(this.index[position]!, this.measuredAtMs[position]!);
      const found = trustOf(flags, isKnown, ageMs, this.staleAfterMs);
      this.trust[position] = found;
      if (found !== trust.fresh) this.#blank(position);
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
   * ports; IPv6 with and without brackets) into `into`, which holds `count` entries, each once.
   * Returns how many.
   */
  subset(entries: readonly string[], into: Int32Array): number {
    const found = new Set<number>();
    for (const entry of entries) {
      const text = entry.trim();
      const exact = this.#positionByDestination.get(text);
      if (exact !== undefined) found.add(exact);
      else
        for (const position of this.#positionsByAddress.get(bare(text)) ?? []) found.add(position);
    }
    let written = 0;
    for (const position of found) into[written++] = position;
    return written;
  }

  /** The position of the endpoint at `ip:port`, -1 when it is not a member. */
  positionAt(destination: string): number {
    return this.#positionByDestination.get(destination) ?? -1;
  }

  /** The position of an in-flight index, -1 when it is not a member. */
  positionOf(index: number): number {
    return (this.#positionByIndex[index] ?? 0) - 1;
  }

  #isLoadKnown(position: number): boolean {
    const running = this.runningRequests[position]!;
    return !Number.isNaN(running) || !Number.isNaN(this.waitingRequests[position]!);
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
    const measuredAtMs = source.measuredAtMs(slot);
    const running = source.numberOf(slot, metric.runningRequests);
    const waiting = source.numberOf(slot, metric.waitingRequests);
    const ledger = this.#history.requestsAt(this.index[position]!, measuredAtMs);
    const unseen = Math.max(0, zeroIfUnknown(running) + zeroIfUnknown(waiting) - ledger);
    this.measuredAtMs[position] = measuredAtMs;
    this.runningRequests[position] = running;
    this.waitingRequests[position] = waiting;
    this.ledgerAtReport[position] = ledger;
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
      this.#onCapacity(this.index[position]!, capacity);
    }
    this.loraSlotsMax[position] = source.numberOf(slot, metric.loraSlotsMax);
    this.interTokenMs[position] = this.#speed.observe(
      position,
      source.numberOf(slot, metric.interTokenSecondsSum),
      source.numberOf(slot, metric.interTokenCount),
      this.interTokenMs[position]!,
    );
  }

  #indexAddresses(): void {
    this.#positionByDestination = new Map();
    this.#positionsByAddress = new Map();
    for (const [position, endpoint] of this.endpoints.entries()) {
      this.#positionByIndex[endpoint.index] = position + 1;
      this.#positionByDestination.set(endpoint.destination, position);
      this.#positionByDestination.set(`${endpoint.address}:${endpoint.port}`, position);
      const list = this.#positionsByAddress.get(endpoint.address);
      if (list === undefined) this.#positionsByAddress.set(endpoint.address, [position]);
      else list.push(position);
    }
  }
}

function zeroIfUnknown(value: number): number {
  return Number.isNaN(value) ? 0 : value;
}

function bare(address: string): string {
  return address.startsWith('[') && address.endsWith(']') ? address.slice(1, -1) : address;
}
