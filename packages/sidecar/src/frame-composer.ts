/**
 * Puts the reports of a pod's targets into frames: what changed after a scrape, all that is known
 * in a keyframe, and a last word at the end.
 *
 * Order of records per target: report, attributes, ranks; a receiver may rely on a report being
 * there before what describes it. The age in a report is the age at the time of composing, as a
 * sidecar sends at once or not at all.
 */
import type { Target } from '@leadsman/scrape';
import {
  type FrameKind,
  type FrameSender,
  FrameWriter,
  frameBytesMax,
  frameBytesMin,
  frameHeaderBytes,
  frameKind,
  recordHeaderBytes,
  recordType,
} from '@leadsman/wire';

/**
 * Bytes of one frame. A keyframe of 16 targets with 64 ranks each has 55 KB; an agent takes frames
 * of 64 KB, and NATS messages of a megabyte.
 */
const frameBytesWanted = 32_768;

interface FrameRecord {
  type: number;
  payload: Uint8Array;
}

export class FrameComposer {
  /** Records that fit no frame the transport takes. */
  droppedRecords = 0;
  readonly #targets: readonly Target[];
  readonly #sender: FrameSender;
  #writer: FrameWriter;
  /** The attributes last sent, by target: the same array until they change. */
  readonly #sent = new Map<Target, Uint8Array>();

  constructor(targets: readonly Target[], sender: FrameSender) {
    this.#targets = targets;
    this.#sender = sender;
    this.#writer = new FrameWriter(sender, frameBytesWanted);
  }

  /**
   * Keeps frames within what the transport takes. Frames that get smaller begin again under a
   * new sender epoch: their sequence starts anew.
   */
  limit(bytesMax: number): void {
    const wanted = Math.min(frameBytesWanted, bytesMax, frameBytesMax);
    if (wanted >= this.#writer.bytesMax || wanted < frameBytesMin) return;
    this.#sender.epoch++;
    this.#writer = new FrameWriter(this.#sender, wanted);
  }

  /** What the latest scrapes of `targets` changed. */
  changes(targets: Iterable<Target>, nowMs: number): Uint8Array[] {
    const records: FrameRecord[] = [];
    for (const target of targets) {
      const { state } = target;
      records.push({ type: recordType.report, payload: state.reportBytes(nowMs) });
      const attributes = state.attributesBytes();
      if (this.#sent.get(target) === attributes) continue;
      this.#sent.set(target, attributes);
      records.push({ type: recordType.attributes, payload: attributes });
    }
    return this.#frames(records, frameKind.changes);
  }

  /** All that is known of every target. */
  keyframe(nowMs: number): Uint8Array[] {
    const records: FrameRecord[] = [];
    for (const target of this.#targets) {
      const { state } = target;
      records.push({ type: recordType.report, payload: state.reportBytes(nowMs) });
      records.push({ type: recordType.attributes, payload: state.attributesBytes() });
      this.#sent.set(target, state.attributesBytes());
      const ranks = state.ranksBytes();
      if (ranks !== undefined) records.push({ type: recordType.ranks, payload: ranks });
    }
    return this.#frames(records, frameKind.keyframe);
  }

  /** That no report will follow. */
  gone(): Uint8Array[] {
    const records = this.#targets.map(({ state }) => ({
      type: recordType.gone,
      payload: state.goneBytes(),
    }));
    return this.#frames(records, frameKind.changes);
  }

  #frames(records: readonly FrameRecord[], kind: FrameKind): Uint8Array[] {
    const parts: FrameRecord[][] = [[]];
    let bytes = frameHeaderBytes;
    for (const record of records) {
      if (!this.#writer.fits(record.payload.length)) {
        this.droppedRecords++;
        continue;
      }
      const length = recordHeaderBytes + Math.ceil(record.payload.length / 8) * 8;
      if (bytes + length > this.#writer.bytesMax) {
        parts.push([]);
        bytes = frameHeaderBytes;
      }
      bytes += length;
      parts.at(-1)?.push(record);
    }
    return parts.map((part, index) => {
      for (const { type, payload } of part) this.#writer.append(type, payload);
      return this.#writer.finish(kind, index, parts.length);
    });
  }
}
