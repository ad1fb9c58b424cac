/**
 * What the agent keeps of one target: its newest report, attributes and ranks, and which of them
 * the collectors have not been told yet. One object per (pod, serving port), bounded by the
 * batcher's table.
 */
import { compareOrder, recordType, verdict } from '@leadsman/wire';

/** The newest (epoch, position) of one kind of record, by the order that all readers share. */
export class Newest {
  epoch = 0;
  position = 0;
  /** When this or a repetition of it came, ms. */
  heardMs = Number.NEGATIVE_INFINITY;

  /** Whether a record is newer than what is held; a repetition only proves that its sender lives. */
  accept(epoch: number, position: number, nowMs: number): boolean {
    const silentMs = nowMs - this.heardMs;
    const result = compareOrder(epoch, position, this.epoch, this.position, silentMs);
    if (result === verdict.older) return false;
    this.heardMs = nowMs;
    if (result === verdict.duplicate) return false;
    this.epoch = epoch;
    this.position = position;
    return true;
  }
}

/** One record as it will be sent, and whether it waits to be. */
export class Held {
  bytes: Uint8Array | undefined;
  waiting = false;

  /** Copies `bytes`; the memory of an equally long predecessor is used again. */
  put(bytes: Uint8Array): void {
    if (this.bytes?.length === bytes.length) this.bytes.set(bytes);
    else this.bytes = bytes.slice();
    this.waiting = true;
  }
}

export interface TargetRecord {
  readonly type: number;
  readonly held: Held;
}

export class KnownTarget {
  readonly key: string;
  readonly podKey: Uint8Array;
  readonly port: number;
  /** 16 bytes; whose frames may speak of this target. */
  readonly address = new Uint8Array(16);
  /** Order of reports and of the gone record, which ends them. */
  readonly reportOrder = new Newest();
  readonly attributesOrder = new Newest();
  readonly ranksOrder = new Newest();
  readonly report = new Held();
  readonly attributes = new Held();
  readonly ranks = new Held();
  readonly gone = new Held();
  readonly #living: readonly TargetRecord[] = [
    { type: recordType.report, held: this.report },
    { type: recordType.attributes, held: this.attributes },
    { type: recordType.ranks, held: this.ranks },
  ];
  readonly #ended: readonly TargetRecord[] = [{ type: recordType.gone, held: this.gone }];
  /** When the held report reached this machine, ms: its age grows from then on. */
  reportedMs = 0;
  /** When its sender last spoke of it, ms. */
  heardMs: number;

  constructor(key: string, podKey: Uint8Array, port: number, nowMs: number) {
    this.key = key;
    this.podKey = podKey;
    this.port = port;
    this.heardMs = nowMs;
  }

  /** Its sender said that it will not come back. */
  get ended(): boolean {
    return this.gone.bytes !== undefined;
  }

  /** What collectors may be told, the report first: a target that ended is told only that. */
  get records(): readonly TargetRecord[] {
    return this.ended ? this.#ended : this.#living;
  }

  get waiting(): boolean {
    return (
      this.report.waiting || this.attributes.waiting || this.ranks.waiting || this.gone.waiting
    );
  }
}
