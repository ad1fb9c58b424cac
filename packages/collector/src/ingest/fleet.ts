/**
 * The rules of the fleet view: which record may change it, when an endpoint leaves. Storage is the
 * view's ({@link ViewWriter}); what this thread knows of an endpoint is read back from its slot, so
 * a fleet made over a view that another thread left goes on where that one stopped.
 *
 * Invariants:
 * - an endpoint that reports is not moved to another address;
 * - a slot holds the newest (epoch, seq) heard of its endpoint (`compareOrder`);
 * - times are the receiver's; `measured at` is receipt minus the age that the senders state;
 * - an endpoint leaves when nothing *newer* came for `expireAfterMs`; repeats do not keep it. The
 *   caller asks for that only while the feed is whole: else silence says nothing about endpoints;
 * - every table here is bounded by the number of slots.
 *
 * Cost of a report: one index lookup, one comparison, one copy. No allocation but for newcomers.
 */
import { KeyIndex } from '@leadsman/view/key-index';
import { attributesSlotBytes, bodyInt, bodyWord, bodyWords } from '@leadsman/view/layout';
import type { ViewWriter } from '@leadsman/view/writer';
import {
  compareOrder,
  decodeAttributes,
  epochTakeoverMs,
  isSameAddress,
  podKeyBytes,
  reason,
  recordEpochAt,
  recordPortAt,
  recordPositionAt,
  reportAgeMsAt,
  reportEngineRanksAt,
  reportEpochAt,
  reportKeyByte,
  reportKeyInt,
  reportPortAt,
  reportReasonAt,
  reportSeqAt,
  targetText,
  verdict,
  WireError,
} from '@leadsman/wire';
import type { Departures } from '../watch/departures.ts';
import type { IngestCounters } from './counters.ts';
import { EarlyAttributes } from './early-attributes.ts';
import { Tombstones } from './tombstones.ts';

/** Ten keyframes without news: the pod or its path is gone. */
export const expireAfterMsDefault = 10_000;

export interface FleetOptions {
  writer: ViewWriter;
  counters: IngestCounters;
  expireAfterMs: number;
  /** Keep the numbers of engine ranks, for people. */
  keepRanks: boolean;
  /** Takes note of who left, for watchers. */
  departures?: Departures | undefined;
}

export class Fleet {
  readonly #writer: ViewWriter;
  readonly #counters: IngestCounters;
  readonly #expireAfterMs: number;
  readonly #slotByTarget = new KeyIndex();
  readonly #tombstones: Tombstones;
  readonly #early: EarlyAttributes;
  readonly #ranks: Map<number, Uint8Array> | undefined;
  readonly #departures: Departures | undefined;

  /** Takes over what the view holds. */
  constructor(options: FleetOptions) {
    this.#writer = options.writer;
    this.#counters = options.counters;
    this.#expireAfterMs = options.expireAfterMs;
    this.#ranks = options.keepRanks ? new Map() : undefined;
    this.#departures = options.departures;
    this.#tombstones = new Tombstones(options.writer.slotsMax);
    this.#early = new EarlyAttributes(options.writer.slotsMax);
    this.#takeOver();
  }

  get tombstones(): number {
    return this.#tombstones.size;
  }

  get earlyAttributes(): number {
    return this.#early.size;
  }

  /**
   * The ranks record of a slot, as on the wire; only with `keepRanks`. An engine that came back
   * with one rank sends none any more: what its former self said is not shown as its own.
   */
  ranksRecord(slot: number): Uint8Array | undefined {
    const record = this.#ranks?.get(slot);
    if (record === undefined) return undefined;
    const { bodyFloats, bodyInts } = this.#writer.memory;
    const at = reportWordOf(slot);
    if (reportEngineRanksAt(bodyInts, at) <= 1) return undefined;
    const isCurrent = recordEpochAt(viewOf(record), 0) === reportEpochAt(bodyFloats, at);
    return isCurrent ? record : undefined;
  }

  /**
   * Applies a checked report at word `word` of `floats` (`ints` alias the same buffer).
   * `extraAgeMs` is added to the age it states.
   */
  report(
    floats: Float64Array,
    ints: Int32Array,
    word: number,
    nowMs: number,
    extraAgeMs: number,
  ): void {
    const port = reportPortAt(ints, word);
    const slot = this.#slotByTarget.get(ints, reportKeyInt(word), port);
    if (slot < 0) {
      this.#newcomer(floats, ints, word, port, nowMs, extraAgeMs);
      return;
    }
    const measuredAtMs = nowMs - reportAgeMsAt(floats, word) - extraAgeMs;
    const body = this.#writer.memory.bodyFloats;
    const known = reportWordOf(slot);
    // While this thread stood still, nobody was silent.
    const silentMs = nowMs - body[slot * bodyWords + bodyWord.receivedAtMs]! - extraAgeMs;
    const result = compareOrder(
      reportEpochAt(floats, word),
      reportSeqAt(floats, word),
      reportEpochAt(body, known),
      reportSeqAt(body, known),
      silentMs,
    );
    if (result === verdict.older) this.#counters.olderReports++;
    else if (result === verdict.duplicate) this.#counters.duplicateReports++;
    else if (
      silentMs < epochTakeoverMs &&
      !isSameAddress(ints, word, this.#writer.memory.bodyInts, known)
    ) {
      // A pod keeps its address: somebody else uses its identity, or it is being made anew.
      this.#counters.foreignReports++;
    } else {
      if (result === verdict.takeover) this.#counters.takeoverReports++;
      this.#counters.appliedReports++;
      this.#writer.storeReport(slot, floats, ints, word, nowMs, measuredAtMs);
    }
  }

  /** Applies a checked attributes record; text that is not UTF-8 is refused and counted. */
  attributes(record: Uint8Array, nowMs: number): void {
    const view = viewOf(record);
    const port = recordPortAt(view, 0);
    const slot = this.#slotByTarget.get(alignedKey(record), 0, port);
    if (slot < 0) {
      this.#early.keep(targetText(record, port), record, nowMs);
      return;
    }
    if (this.#areNewer(slot, recordEpochAt(view, 0), recordPositionAt(view, 0)))
      this.#storeAttributes(slot, record);
  }

  /** Keeps the newest ranks record of a known endpoint. */
  ranks(record: Uint8Array): void {
    if (this.#ranks === undefined) return;
    const view = viewOf(record);
    const slot = this.#slotByTarget.get(alignedKey(record), 0, recordPortAt(view, 0));
    if (slot < 0) return;
    const body = this.#writer.memory.bodyFloats;
    const at = reportWordOf(slot);
    // Ranks belong to a report: those of another one would contradict the totals.
    if (recordEpochAt(view, 0) !== reportEpochAt(body, at)) return;
    if (recordPositionAt(view, 0) !== reportSeqAt(body, at)) return;
    const kept = this.#ranks.get(slot);
    if (kept?.length === record.length) kept.set(record);
    else this.#ranks.set(slot, record.slice());
  }

  /** Withdraws an endpoint, unless something newer is known of it. */
  gone(record: Uint8Array, nowMs: number): void {
    const view = viewOf(record);
    const port = recordPortAt(view, 0);
    const epoch = recordEpochAt(view, 0);
    const seq = recordPositionAt(view, 0);
    const slot = this.#slotByTarget.get(alignedKey(record), 0, port);
    if (slot >= 0) {
      const body = this.#writer.memory.bodyFloats;
      const at = reportWordOf(slot);
      const [knownEpoch, knownSeq] = [reportEpochAt(body, at), reportSeqAt(body, at)];
      if (compareOrder(epoch, seq, knownEpoch, knownSeq, 0) === verdict.older) return;
      this.#release(slot, port);
      this.#counters.goneEndpoints++;
    }
    // Also one that is unknown here: a watcher may know it from another replica.
    if (this.#tombstones.add(targetText(record, port), epoch, seq, nowMs)) {
      this.#departures?.add(alignedKey(record), 0, port, epoch, seq, nowMs);
    }
  }

  /** Lets go of endpoints of which nothing newer came. */
  expire(nowMs: number): void {
    const { bodyFloats, bodyInts } = this.#writer.memory;
    for (let slot = 0; slot < this.#writer.slots; slot++) {
      const at = slot * bodyWords;
      if (bodyInts[at * 2 + bodyInt.used] !== 1) continue;
      if (nowMs - bodyFloats[at + bodyWord.receivedAtMs]! <= this.#expireAfterMs) continue;
      const word = reportWordOf(slot);
      const epoch = reportEpochAt(bodyFloats, word);
      const seq = reportSeqAt(bodyFloats, word);
      const port = reportPortAt(bodyInts, word);
      this.#tombstones.add(this.#targetOf(slot, port), epoch, seq, nowMs);
      this.#departures?.add(bodyInts, reportKeyInt(word), port, epoch, seq, nowMs);
      this.#release(slot, port);
      this.#counters.expiredEndpoints++;
    }
  }

  /** Lets go of old notes about endpoints without a slot. */
  forget(nowMs: number): void {
    this.#tombstones.expire(nowMs);
    this.#early.expire(nowMs);
  }

  #newcomer(
    floats: Float64Array,
    ints: Int32Array,
    word: number,
    port: number,
    nowMs: number,
    extraAgeMs: number,
  ): void {
    const measuredAtMs = nowMs - reportAgeMsAt(floats, word) - extraAgeMs;
    const keyAt = ints.byteOffset + reportKeyByte(word);
    const target = targetText(new Uint8Array(ints.buffer, keyAt, podKeyBytes), port);
    const epoch = reportEpochAt(floats, word);
    const seq = reportSeqAt(floats, word);
    if (this.#tombstones.admit(target, epoch, seq, nowMs, extraAgeMs) >= verdict.duplicate) {
      this.#counters.withdrawnReports++;
      return;
    }
    const failed = reportReasonAt(ints, word) !== reason.ok;
    // A failed scrape tells of a living pod, however old the last numbers are.
    if (!failed && nowMs - measuredAtMs > this.#expireAfterMs) {
      this.#counters.expiredReports++;
      return;
    }
    const slot = this.#writer.allocate();
    if (slot < 0) {
      this.#counters.fullReports++;
      return;
    }
    this.#counters.appliedReports++;
    this.#writer.storeReport(slot, floats, ints, word, nowMs, measuredAtMs);
    this.#slotByTarget.set(ints, reportKeyInt(word), port, slot);
    const early = this.#early.take(target);
    if (early !== undefined) this.#storeAttributes(slot, early);
  }

  /** Newer by (epoch, revision), or of the epoch that now reports after a clock was set back. */
  #areNewer(slot: number, epoch: number, revision: number): boolean {
    const { bodyFloats, bodyInts, attributeView } = this.#writer.memory;
    const at = slot * bodyWords;
    if (bodyInts[at * 2 + bodyInt.attributesVersion] === 0) return true;
    const record = slot * attributesSlotBytes + 8;
    const knownEpoch = recordEpochAt(attributeView, record);
    if (epoch === knownEpoch) return revision > recordPositionAt(attributeView, record);
    return epoch > knownEpoch || epoch === reportEpochAt(bodyFloats, reportWordOf(slot));
  }

  #storeAttributes(slot: number, record: Uint8Array): void {
    try {
      decodeAttributes(record);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.#counters.badAttributes++;
      return;
    }
    this.#writer.storeAttributes(slot, record);
    this.#counters.appliedAttributes++;
  }

  #release(slot: number, port: number): void {
    const ints = this.#writer.memory.bodyInts;
    this.#slotByTarget.delete(ints, reportKeyInt(reportWordOf(slot)), port);
    this.#ranks?.delete(slot);
    this.#writer.free(slot);
  }

  #targetOf(slot: number, port: number): string {
    const key = new Uint8Array(podKeyBytes);
    const ints = new Int32Array(key.buffer);
    const from = reportKeyInt(reportWordOf(slot));
    for (let i = 0; i < 4; i++) ints[i] = this.#writer.memory.bodyInts[from + i]!;
    return targetText(key, port);
  }

  #takeOver(): void {
    const ints = this.#writer.memory.bodyInts;
    for (let slot = 0; slot < this.#writer.slots; slot++) {
      if (!this.#writer.isUsed(slot)) continue;
      const word = reportWordOf(slot);
      this.#slotByTarget.set(ints, reportKeyInt(word), reportPortAt(ints, word), slot);
    }
  }
}

function viewOf(record: Uint8Array): DataView {
  return new DataView(record.buffer, record.byteOffset, record.length);
}

/** Where a slot's report begins among the words of the bodies. */
function reportWordOf(slot: number): number {
  return slot * bodyWords + bodyWord.report;
}

const keyScratch = new Int32Array(4);
const keyScratchBytes = new Uint8Array(keyScratch.buffer);

/** The pod key at a record's start as words; the record may lie anywhere. */
function alignedKey(record: Uint8Array): Int32Array {
  for (let i = 0; i < 16; i++) keyScratchBytes[i] = record[i]!;
  return keyScratch;
}
