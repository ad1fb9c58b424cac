/**
 * The agent's core: takes frames of its node's pods, and says when and what to send on.
 *
 * ```
 *   take() ──> table of newest records ──flush()──> frames of what changed, or a keyframe
 * ```
 *
 * Pure but for the sink it is given: time comes as an argument, so every interleaving can be
 * tested. Invariants: a target's records never go back in (epoch, position); a record stops
 * waiting only when a frame with it was taken by the sink; what the sink refuses stays newest and
 * is sent once it takes frames again, never queued; the table is bounded.
 *
 * Cost: about 2 µs per report taken and 1 µs per report sent (bench fleet), no timer of its own.
 */
import type { FrameSender } from '@leadsman/wire';
import { type BatchBounds, batchBoundsDefault } from './bounds.ts';
import { type BatchCounters, createBatchCounters } from './counters.ts';
import { Packer, type PackSink } from './packer.ts';
import type { KnownTarget } from './target.ts';
import { type PodDirectory, type TakeResult, TargetTable } from './target-table.ts';

export interface BatchSink extends PackSink {
  readonly connected: boolean;
}

export interface BatcherOptions {
  /** 16 random bytes and the process's start time. */
  sender: FrameSender;
  sink: BatchSink;
  bounds?: Partial<BatchBounds>;
  /** 0..1, exclusive: spreads the keyframes of a cluster's agents over their interval. */
  keyframePhase?: number;
  nowMs: number;
  /** Which pods are this node's; without it a pod is bound to where it first reports from. */
  directory?: PodDirectory | undefined;
}

export class Batcher {
  readonly counters: BatchCounters = createBatchCounters();
  readonly bounds: BatchBounds;
  readonly #sink: BatchSink;
  readonly #table: TargetTable;
  readonly #packer: Packer;
  /** When the first and the latest of what waits came, ms; NaN: nothing waits. */
  #waitingSinceMs = Number.NaN;
  #lastTakenMs = Number.NaN;
  #wasConnected = false;
  #lastFlushMs = Number.NEGATIVE_INFINITY;
  #retryMs = Number.NEGATIVE_INFINITY;
  #keyframeMs: number;

  constructor(options: BatcherOptions) {
    this.bounds = { ...batchBoundsDefault, ...options.bounds };
    this.#sink = options.sink;
    this.#table = new TargetTable(this.bounds, this.counters, options.directory);
    this.#packer = new Packer(options.sender, this.counters, options.sink.frameBytesMax);
    this.#keyframeMs = options.nowMs + this.bounds.keyframeMs * (options.keyframePhase ?? 0);
  }

  get targets(): ReadonlyMap<string, KnownTarget> {
    return this.#table.targets;
  }

  /** Applies a frame whole, or refuses it whole. See {@link TargetTable.take}. */
  take(frame: Uint8Array, peer: Uint8Array | undefined, nowMs: number): TakeResult {
    const newsBefore = this.#table.news;
    const result = this.#table.take(frame, peer, nowMs);
    // Sidecars repeat themselves each second: that alone is nothing to wake up or to wait for.
    if (this.#table.news > newsBefore) {
      if (!this.#waiting) this.#waitingSinceMs = nowMs;
      this.#lastTakenMs = nowMs;
    }
    return result;
  }

  /** When {@link flush} wants to be called next, ms on the caller's clock; each take may change it. */
  dueMs(): number {
    return Math.max(Math.min(this.#changesDueMs(), this.#keyframeMs), this.#retryMs);
  }

  /** Sends what is due. Calling it early or often does no harm. */
  flush(nowMs: number): void {
    if (nowMs < this.dueMs()) return;
    const sink = this.#sink;
    if (!sink.connected) {
      this.#wasConnected = false;
      // Else a day without a broker fills the table with pods that are long gone.
      this.#table.expire(nowMs);
      this.#retryMs = nowMs + this.bounds.retryMs;
      return;
    }
    this.#packer.resize(sink.frameBytesMax);
    const targets = this.#table.targets.values();
    let sent = true;
    // After a break the receivers may be others, or have forgotten: tell them everything.
    if (nowMs >= this.#keyframeMs - this.bounds.keyframeEarlyMs || !this.#wasConnected) {
      this.#table.expire(nowMs);
      sent = this.#packer.sendKeyframe(targets, sink, nowMs);
      if (sent) {
        this.counters.keyframes++;
        this.#keyframeMs = nowMs + this.bounds.keyframeMs;
      }
    } else if (this.#waiting) sent = this.#packer.sendChanges(targets, sink, nowMs);
    this.#wasConnected = sent;
    if (sent) {
      this.#waitingSinceMs = Number.NaN;
      this.#table.waitingReports = 0;
      this.#lastFlushMs = nowMs;
    } else this.#retryMs = nowMs + this.bounds.retryMs;
  }

  get #waiting(): boolean {
    return !Number.isNaN(this.#waitingSinceMs);
  }

  /** At once when all living targets have reported; else after the burst, within the window. */
  #changesDueMs(): number {
    if (!this.#waiting) return Number.POSITIVE_INFINITY;
    const { windowMs, quietMs } = this.bounds;
    const allowedMs = this.#lastFlushMs + windowMs;
    if (this.#table.waitingReports >= this.#table.living) return allowedMs;
    const wholeMs = Math.min(this.#waitingSinceMs + windowMs, this.#lastTakenMs + quietMs);
    return Math.max(allowedMs, wholeMs);
  }
}
