/**
 * Turns records into frames that the sink takes, and remembers which records are in the frame at
 * hand: they stop waiting only when the sink took it.
 */
import {
  type FrameKind,
  type FrameSender,
  FrameWriter,
  frameBytesMin,
  frameHeaderBytes,
  frameKind,
  recordHeaderBytes,
  recordType,
} from '@leadsman/wire';
import type { BatchCounters } from './counters.ts';
import type { Held, KnownTarget } from './target.ts';

/** The sink's side that the packer needs. */
export interface PackSink {
  readonly frameBytesMax: number;
  send(frame: Uint8Array): boolean;
}

export class Packer {
  readonly #counters: BatchCounters;
  readonly #inFrame: Held[] = [];
  #sender: FrameSender;
  #writer: FrameWriter;
  #reports = 0;

  constructor(sender: FrameSender, counters: BatchCounters, bytesMax: number) {
    this.#sender = sender;
    this.#counters = counters;
    this.#writer = new FrameWriter(sender, bytesMax);
  }

  /**
   * Follows the sink's bound. A new writer counts its frames anew, so it has a new epoch. A bound
   * that no report fits is left to the sink to refuse and count: it must not end the agent.
   */
  resize(bytesMax: number): void {
    if (bytesMax < frameBytesMin || Math.floor(bytesMax / 8) * 8 === this.#writer.bytesMax) return;
    this.#sender = { id: this.#sender.id, epoch: this.#sender.epoch + 1 };
    this.#writer = new FrameWriter(this.#sender, bytesMax);
  }

  /** Sends what waits, in as many frames as needed; `false` when the sink stopped taking. */
  sendChanges(targets: Iterable<KnownTarget>, sink: PackSink, nowMs: number): boolean {
    for (const target of targets) {
      if (!target.waiting) continue;
      for (const { type, held } of target.records) {
        if (!held.waiting || this.#append(type, held, target, nowMs)) continue;
        if (!this.#finish(sink, frameKind.changes, 0, 1)) return false;
        this.#append(type, held, target, nowMs);
      }
    }
    return this.#writer.records === 0 || this.#finish(sink, frameKind.changes, 0, 1);
  }

  /** Sends all that is known, in numbered parts; `false` when the sink stopped taking. */
  sendKeyframe(targets: Iterable<KnownTarget>, sink: PackSink, nowMs: number): boolean {
    const all = [...targets];
    const parts = this.#countParts(all);
    let part = 0;
    for (const target of all) {
      for (const { type, held } of target.records) {
        if (held.bytes === undefined || this.#append(type, held, target, nowMs)) continue;
        if (!this.#finish(sink, frameKind.keyframe, part++, parts)) return false;
        this.#append(type, held, target, nowMs);
      }
    }
    return this.#finish(sink, frameKind.keyframe, part, parts);
  }

  /** `false`: no room left in this frame. A record that can never fit is dropped here. */
  #append(type: number, held: Held, target: KnownTarget, nowMs: number): boolean {
    const bytes = held.bytes as Uint8Array;
    if (!this.#writer.fits(bytes.length)) {
      this.#counters.oversized++;
      held.waiting = false;
      return true;
    }
    const isReport = type === recordType.report;
    const appended = isReport
      ? this.#writer.appendReport(bytes, nowMs - target.reportedMs)
      : this.#writer.append(type, bytes);
    if (!appended) return false;
    if (isReport) this.#reports++;
    this.#inFrame.push(held);
    return true;
  }

  #finish(sink: PackSink, kind: FrameKind, part: number, parts: number): boolean {
    const frame = this.#writer.finish(kind, part, parts);
    const reports = this.#reports;
    this.#reports = 0;
    if (!sink.send(frame)) {
      this.#counters.unsent++;
      this.#inFrame.length = 0;
      return false;
    }
    for (const held of this.#inFrame) held.waiting = false;
    this.#inFrame.length = 0;
    this.#counters.batches++;
    this.#counters.batchBytes += frame.length;
    this.#counters.batchReports += reports;
    return true;
  }

  /** Frames that the greedy packing above will make. */
  #countParts(targets: readonly KnownTarget[]): number {
    let parts = 1;
    const roomMax = this.#writer.bytesMax - frameHeaderBytes;
    let room = roomMax;
    for (const target of targets) {
      for (const { held } of target.records) {
        if (held.bytes === undefined || !this.#writer.fits(held.bytes.length)) continue;
        const bytes = recordHeaderBytes + Math.ceil(held.bytes.length / 8) * 8;
        if (bytes > room) {
          parts++;
          room = roomMax;
        }
        room -= bytes;
      }
    }
    return parts;
  }
}
