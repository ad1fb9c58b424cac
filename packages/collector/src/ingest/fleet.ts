/**
 * The rules of the fleet view: which record may change it, when an endpoint leaves. Storage is the
 * view's ({@link ViewWriter}); what this thread knows of an endpoint is read back from its slot, so
 * a fleet made over a view that another thread left goes on where that one stopped.
 *
 * Invariants:
 * - a slot holds the newest (epoch, seq) heard of its endpoint (order.ts);
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
import { decodeAttributes, reportOffset, targetText, WireError } from '@leadsman/wire';
import type { Departures } from '../watch/departures.ts';
import type { IngestCounters } from './counters.ts';
import { EarlyAttributes } from './early-attributes.ts';
import { compareOrder, verdict } from './order.ts';
import { Tombstones } from './tombstones.ts';

/** Ten keyframes without news: the pod or its path is gone. */
export const expireAfterMsDefault = 10_000;

/** Words of a report and positions in a body. */
const epochWord = reportOffset.epoch / 8;
const seqWord = reportOffset.seq / 8;
const ageWord = reportOffset.ageMs / 8;
const keyInt = reportOffset.podKey / 4;
const portInt = reportOffset.port / 4;
/** Reason in the lowest byte, engine ranks in the next. */
const reasonInt = reportOffset.reason / 4;
const bodyKeyInt = bodyInt.report + keyInt;

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
    const at = slot * bodyWords + bodyWord.report;
    const engineRanks = (bodyInts[at * 2 + reasonInt]! >>> 8) & 0xff;
    const view = new DataView(record.buffer, record.byteOffset, record.length);
    const isCurrent = engineRanks > 1 && view.getFloat64(24, true) === bodyFloats[at + epochWord]!;
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
    const port = ints[word * 2 + portInt]! & 0xffff;
    const slot = this.#slotByTarget.get(ints, word * 2 + keyInt, port);
    if (slot < 0) {
      this.#newcomer(floats, ints, word, port, nowMs, extraAgeMs);
      return;
    }
    const measuredAtMs = nowMs - floats[word + ageWord]! - extraAgeMs;
    const body = this.#writer.memory.bodyFloats;
    const at = slot * bodyWords;
    const result = compareOrder(
      floats[word + epochWord]!,
      floats[word + seqWord]!,
      body[at + bodyWord.report + epochWord]!,
      body[at + bodyWord.report + seqWord]!,
      // While this thread stood still, nobody was silent.
      nowMs - body[at + bodyWord.receivedAtMs]! - extraAgeMs,
    );
    if (result === verdict.older) this.#counters.olderReports++;
    else if (result === verdict.duplicate) this.#counters.duplicateReports++;
    else {
      if (result === verdict.takeover) this.#counters.takeoverReports++;
      this.#counters.appliedReports++;
      this.#writer.storeReport(slot, floats, ints, word, nowMs, measuredAtMs);
    }
  }

  /** Applies a checked attributes record; text that is not UTF-8 is refused and counted. */
  attributes(record: Uint8Array, nowMs: number): void {
    const ints = alignedKey(record);
    const view = new DataView(record.buffer, record.byteOffset, record.length);
    const port = view.getUint16(16, true);
    const slot = this.#slotByTarget.get(ints, 0, port);
    if (slot < 0) {
      this.#early.keep(targetText(record, port), record, nowMs);
      return;
    }
    const epoch = view.getFloat64(24, true);
    const revision = view.getFloat64(32, true);
    if (this.#areNewer(slot, epoch, revision)) this.#storeAttributes(slot, record);
  }

  /** Keeps the newest ranks record of a known endpoint. */
  ranks(record: Uint8Array): void {
    if (this.#ranks === undefined) return;
    const view = new DataView(record.buffer, record.byteOffset, record.length);
    const slot = this.#slotByTarget.get(alignedKey(record), 0, view.getUint16(16, true));
    if (slot < 0) return;
    const body = this.#writer.memory.bodyFloats;
    const at = slot * bodyWords + bodyWord.report;
    // Ranks belong to a report: those of another one would contradict the totals.
    if (view.getFloat64(24, true) !== body[at + epochWord]) return;
    if (view.getFloat64(32, true) !== body[at + seqWord]) return;
    const kept = this.#ranks.get(slot);
    if (kept?.length === record.length) kept.set(record);
    else this.#ranks.set(slot, record.slice());
  }

  /** Withdraws an endpoint, unless something newer is known of it. */
  gone(record: Uint8Array, nowMs: number): void {
    const view = new DataView(record.buffer, record.byteOffset, record.length);
    const port = view.getUint16(16, true);
    const epoch = view.getFloat64(24, true);
    const seq = view.getFloat64(32, true);
    const slot = this.#slotByTarget.get(alignedKey(record), 0, port);
    if (slot >= 0) {
      const body = this.#writer.memory.bodyFloats;
      const at = slot * bodyWords + bodyWord.report;
      const known = [body[at + epochWord]!, body[at + seqWord]!] as const;
      if (compareOrder(epoch, seq, ...known, 0) === verdict.older) return;
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
      const epoch = bodyFloats[at + bodyWord.report + epochWord]!;
      const seq = bodyFloats[at + bodyWord.report + seqWord]!;
      const port = bodyInts[at * 2 + bodyInt.report + portInt]! & 0xffff;
      this.#tombstones.add(this.#targetOf(slot, port), epoch, seq, nowMs);
      this.#departures?.add(bodyInts, at * 2 + bodyKeyInt, port, epoch, seq, nowMs);
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
    const measuredAtMs = nowMs - floats[word + ageWord]! - extraAgeMs;
    const bytes = new Uint8Array(ints.buffer, ints.byteOffset + word * 8, 24);
    const target = targetText(bytes.subarray(reportOffset.podKey), port);
    const epoch = floats[word + epochWord]!;
    const seq = floats[word + seqWord]!;
    if (this.#tombstones.admit(target, epoch, seq, nowMs, extraAgeMs) >= verdict.duplicate) {
      this.#counters.withdrawnReports++;
      return;
    }
    const failed = ((ints[word * 2 + reasonInt] ?? 0) & 0xff) !== 0;
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
    this.#slotByTarget.set(ints, word * 2 + keyInt, port, slot);
    const early = this.#early.take(target);
    if (early !== undefined) this.#storeAttributes(slot, early);
  }

  /** Newer by (epoch, revision), or of the epoch that now reports after a clock was set back. */
  #areNewer(slot: number, epoch: number, revision: number): boolean {
    const { bodyFloats, bodyInts, attributeView } = this.#writer.memory;
    const at = slot * bodyWords;
    if (bodyInts[at * 2 + bodyInt.attributesVersion] === 0) return true;
    const record = slot * attributesSlotBytes + 8;
    const knownEpoch = attributeView.getFloat64(record + 24, true);
    if (epoch === knownEpoch) return revision > attributeView.getFloat64(record + 32, true);
    return epoch > knownEpoch || epoch === bodyFloats[at + bodyWord.report + epochWord];
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
    this.#slotByTarget.delete(ints, slot * bodyWords * 2 + bodyKeyInt, port);
    this.#ranks?.delete(slot);
    this.#writer.free(slot);
  }

  #targetOf(slot: number, port: number): string {
    const key = new Uint8Array(16);
    const ints = new Int32Array(key.buffer);
    const from = slot * bodyWords * 2 + bodyKeyInt;
    for (let i = 0; i < 4; i++) ints[i] = this.#writer.memory.bodyInts[from + i]!;
    return targetText(key, port);
  }

  #takeOver(): void {
    const ints = this.#writer.memory.bodyInts;
    for (let slot = 0; slot < this.#writer.slots; slot++) {
      if (!this.#writer.isUsed(slot)) continue;
      const at = slot * bodyWords * 2;
      const port = ints[at + bodyInt.report + portInt]! & 0xffff;
      this.#slotByTarget.set(ints, at + bodyKeyInt, port, slot);
    }
  }
}

const keyScratch = new Int32Array(4);
const keyScratchBytes = new Uint8Array(keyScratch.buffer);

/** The pod key at a record's start as words; the record may lie anywhere. */
function alignedKey(record: Uint8Array): Int32Array {
  for (let i = 0; i < 16; i++) keyScratchBytes[i] = record[i]!;
  return keyScratch;
}
