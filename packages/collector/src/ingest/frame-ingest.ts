/**
 * From a frame's bytes to the view: the collector's inner loop.
 *
 * A frame is checked whole before its first record is applied, so bad bytes never leave half of
 * themselves in the view. All calls come from one thread, which owns the view's writer; times are
 * `monotonicMs`, brought by the caller.
 *
 * Cost (bench/src/ingest.ts): one copy and one check of the frame, then per report one lookup and
 * one copy; well under a microsecond each. What the thread cannot take is dropped before it gets
 * here: a transport that falls behind drops what waited too long, cheaper than reading it.
 */
import { StallGuard } from '@leadsman/service';
import { type FeedState, feedState } from '@leadsman/view/layout';
import type { ViewWriter } from '@leadsman/view/writer';
import { FrameReader, recordType, WireError } from '@leadsman/wire';
import type { Departures } from '../watch/departures.ts';
import { createIngestCounters, type IngestCounters } from './counters.ts';
import { ExpiryGuard } from './expiry-guard.ts';
import { expireAfterMsDefault, Fleet } from './fleet.ts';
import { SenderTable } from './sender-table.ts';

export interface FrameIngestOptions {
  writer: ViewWriter;
  nowMs: number;
  expireAfterMs?: number;
  /** Keep the numbers of engine ranks (for people); default `false`. */
  keepRanks?: boolean;
  /** Senders whose frame numbers are checked; default as many as there are slots. */
  sendersMax?: number;
  /** Takes note of who left, for watchers; default nobody does. */
  departures?: Departures;
}

export class FrameIngest {
  readonly counters: IngestCounters = createIngestCounters();
  readonly #writer: ViewWriter;
  readonly #reader = new FrameReader();
  readonly #fleet: Fleet;
  readonly #senders: SenderTable;
  readonly #stall: StallGuard;
  readonly #expiry: ExpiryGuard;

  constructor(options: FrameIngestOptions) {
    this.#writer = options.writer;
    const expireAfterMs = options.expireAfterMs ?? expireAfterMsDefault;
    this.#expiry = new ExpiryGuard(expireAfterMs);
    this.#fleet = new Fleet({
      writer: options.writer,
      counters: this.counters,
      expireAfterMs,
      keepRanks: options.keepRanks ?? false,
      departures: options.departures,
    });
    this.#senders = new SenderTable(options.sendersMax ?? options.writer.slotsMax, this.counters);
    this.#stall = new StallGuard(options.nowMs);
  }

  get senders(): number {
    return this.#senders.size;
  }

  /** Bounded notes about endpoints without a slot: those that left, those not yet reported. */
  get notes(): number {
    return this.#fleet.tombstones + this.#fleet.earlyAttributes;
  }

  /** The ranks record of a slot, as on the wire; only with `keepRanks`. */
  ranksRecord(slot: number): Uint8Array | undefined {
    return this.#fleet.ranksRecord(slot);
  }

  /**
   * Applies a frame, or counts why not. `waitedMs`: how long it is known to have waited on its way.
   * Throws only when another writer owns the view.
   */
  receive(frame: Uint8Array, nowMs: number, waitedMs = 0): void {
    this.#writer.mustOwn();
    const counters = this.counters;
    const reader = this.#reader;
    counters.frames++;
    counters.frameBytes += frame.length;
    try {
      reader.load(frame);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      counters.badFrames[error.code]++;
      return;
    }
    counters.unknownRecords += reader.unknownRecords;
    this.#senders.observe(reader, nowMs);
    // What waited while this thread stood still, waited on its way too.
    const extraAgeMs = Math.max(waitedMs, this.#stall.extraAgeMs(nowMs));
    while (reader.next()) {
      if (reader.type === recordType.report) {
        this.#fleet.report(reader.words, reader.ints, reader.offset / 8, nowMs, extraAgeMs);
        continue;
      }
      const record = reader.bytes.subarray(reader.offset, reader.offset + reader.length);
      if (reader.type === recordType.attributes) this.#fleet.attributes(record, nowMs);
      else if (reader.type === recordType.ranks) this.#fleet.ranks(record);
      else this.#fleet.gone(record, nowMs);
    }
    this.#writer.commit();
  }

  /**
   * Housekeeping, to be called about every {@link tickMs}: expiry, heartbeat, the feed's state.
   * Endpoints expire only while silence says something about them (expiry-guard.ts): when the feed
   * is cut, or this thread stood still, all fall silent at once, and what was known of them is
   * better than nothing.
   */
  tick(nowMs: number, feed: FeedState): void {
    this.#writer.mustOwn();
    if (this.#stall.tick(nowMs)) {
      this.counters.stalls++;
      this.#expiry.stalled(nowMs, this.#stall.extraAgeMs(nowMs));
    }
    if (this.#expiry.mayExpire(nowMs, feed === feedState.synced)) this.#fleet.expire(nowMs);
    this.#fleet.forget(nowMs);
    this.#senders.expire(nowMs);
    this.#writer.heartbeat(nowMs);
    this.#writer.setFeed(feed);
    this.#writer.commit();
  }
}
