/**
 * The newest records of the node's targets, taken from frames.
 *
 * A frame is applied whole or not at all: it is checked first (bytes, then who speaks for whom),
 * and only then applied. A sender speaks for a pod if its peer address is the address in the
 * pod's report; records that carry no address (attributes, ranks, gone) must follow such a report
 * in the same frame or in an earlier one.
 *
 * Cost per record: one map look-up and one copy.
 */
import {
  addressBytes,
  FrameReader,
  podKeyBytes,
  podKeyText,
  recordType,
  reportOffset,
  WireError,
  type WireErrorCode,
} from '@leadsman/wire';
import type { BatchBounds } from './bounds.ts';
import type { BatchCounters } from './counters.ts';
import { type Held, type Newest, Target } from './target.ts';

/** `taken`, or why nothing of the frame was. */
export type TakeResult =
  | { status: 'taken' }
  | { status: 'bad_frame'; code: WireErrorCode }
  | { status: 'wrong_peer' }
  | { status: 'full' }
  /** Nobody knows how old it is, as this process has just stood still; the next will do. */
  | { status: 'stalled' };

const taken: TakeResult = { status: 'taken' };
const wrongPeer: TakeResult = { status: 'wrong_peer' };
const full: TakeResult = { status: 'full' };

export class TargetTable {
  readonly targets = new Map<string, Target>();
  /**
   * Targets with a new report since whoever sends them set this to 0; too high after they were sent
   * in part, which only makes the next batch leave early.
   */
  waitingReports = 0;
  /** Records that were news, since the start: tells a frame that brings some from a repetition. */
  news = 0;
  /** Targets that ended and are not forgotten yet: no report of theirs is to be waited for. */
  #ended = 0;
  readonly #bounds: BatchBounds;
  readonly #counters: BatchCounters;
  readonly #reader = new FrameReader();
  /** Of the loaded frame, per record: type, offset, length, key. Reused. */
  readonly #types: number[] = [];
  readonly #offsets: number[] = [];
  readonly #lengths: number[] = [];
  readonly #keys: string[] = [];
  /** Targets that the loaded frame adds. */
  readonly #fresh = new Set<string>();

  constructor(bounds: BatchBounds, counters: BatchCounters) {
    this.#bounds = bounds;
    this.#counters = counters;
  }

  /** Targets of which reports are to be expected. */
  get living(): number {
    return this.targets.size - this.#ended;
  }

  /** `peer`: 16 bytes of the sender's address, or `undefined` for the agent's own scrapes. */
  take(frame: Uint8Array, peer: Uint8Array | undefined, nowMs: number): TakeResult {
    try {
      this.#reader.load(frame);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.#counters.refusedFrames++;
      return { status: 'bad_frame', code: error.code };
    }
    this.#index();
    if (peer !== undefined && !this.#speaksFor(peer, nowMs)) {
      this.#counters.refusedPeers++;
      return wrongPeer;
    }
    if (!this.#hasRoom(peer)) {
      this.#counters.refusedTargets++;
      return full;
    }
    this.#counters.frames++;
    for (let i = 0; i < this.#types.length; i++) this.#apply(i, nowMs);
    return taken;
  }

  /** Forgets targets whose senders are silent. */
  expire(nowMs: number): void {
    for (const target of this.targets.values()) {
      if (nowMs - target.heardMs < this.#bounds.expireMs) continue;
      this.targets.delete(target.key);
      if (target.ended) this.#ended--;
      if (target.report.waiting) this.waitingReports--;
      this.#counters.expiredTargets++;
    }
  }

  #index(): void {
    const reader = this.#reader;
    this.#types.length = 0;
    this.#offsets.length = 0;
    this.#lengths.length = 0;
    this.#keys.length = 0;
    while (reader.next()) {
      const isReport = reader.type === recordType.report;
      const keyAt = reader.offset + (isReport ? reportOffset.podKey : 0);
      const portAt = reader.offset + (isReport ? reportOffset.port : podKeyBytes);
      this.#types.push(reader.type);
      this.#offsets.push(reader.offset);
      this.#lengths.push(reader.length);
      const port = reader.view.getUint16(portAt, true);
      this.#keys.push(`${podKeyText(reader.bytes, keyAt)}/${port}`);
    }
  }

  #speaksFor(peer: Uint8Array, nowMs: number): boolean {
    for (let i = 0; i < this.#types.length; i++) {
      const key = this.#keys[i] as string;
      const target = this.targets.get(key);
      if (this.#types[i] === recordType.report) {
        if (!sameBytes(this.#reader.bytes, (this.#offsets[i] ?? 0) + reportOffset.address, peer)) {
          return false;
        }
        // Another address may take a pod over only once the first has fallen silent.
        const silent = target !== undefined && nowMs - target.heardMs >= this.#bounds.expireMs;
        if (target !== undefined && !silent && !sameBytes(target.address, 0, peer)) return false;
      } else if (!this.#reportedHere(key)) {
        if (target === undefined || !sameBytes(target.address, 0, peer)) return false;
      }
    }
    return true;
  }

  #reportedHere(key: string): boolean {
    for (let i = 0; i < this.#types.length; i++) {
      if (this.#types[i] === recordType.report && this.#keys[i] === key) return true;
    }
    return false;
  }

  #hasRoom(peer: Uint8Array | undefined): boolean {
    this.#fresh.clear();
    for (const key of this.#keys) if (!this.targets.has(key)) this.#fresh.add(key);
    const { size } = this.#fresh;
    if (size === 0) return true;
    if (this.targets.size + size > this.#bounds.targetsMax) return false;
    return peer === undefined || this.#targetsOf(peer) + size <= this.#bounds.targetsPerAddressMax;
  }

  /** Looks at all of them: only a frame that adds a target comes here. */
  #targetsOf(peer: Uint8Array): number {
    let targets = 0;
    for (const { address } of this.targets.values()) if (sameBytes(address, 0, peer)) targets++;
    return targets;
  }

  #apply(i: number, nowMs: number): void {
    const reader = this.#reader;
    const offset = this.#offsets[i] as number;
    const target = this.#targetOf(i, nowMs);
    target.heardMs = nowMs;
    const bytes = reader.bytes.subarray(offset, offset + (this.#lengths[i] as number));
    const type = this.#types[i];
    if (type === recordType.report) {
      this.#counters.reports++;
      const epoch = reader.view.getFloat64(offset + reportOffset.epoch, true);
      const seq = reader.view.getFloat64(offset + reportOffset.seq, true);
      const waited = target.report.waiting;
      if (!this.#put(target.report, target.reportOrder, epoch, seq, bytes, nowMs)) return;
      if (!waited) this.waitingReports++;
      target.reportedMs = nowMs;
      if (target.ended) this.#ended--;
      target.gone.bytes = undefined;
      target.gone.waiting = false;
      const addressAt = reportOffset.address;
      target.address.set(bytes.subarray(addressAt, addressAt + addressBytes));
      return;
    }
    const epoch = reader.view.getFloat64(offset + 24, true);
    const position = reader.view.getFloat64(offset + 32, true);
    if (type === recordType.attributes) {
      this.#put(target.attributes, target.attributesOrder, epoch, position, bytes, nowMs);
    } else if (type === recordType.ranks) {
      this.#put(target.ranks, target.ranksOrder, epoch, position, bytes, nowMs);
    } else {
      const ended = target.ended;
      if (!this.#put(target.gone, target.reportOrder, epoch, position, bytes, nowMs)) return;
      if (!ended) this.#ended++;
      if (target.report.waiting) this.waitingReports--;
      target.report.waiting = false;
      target.attributes.waiting = false;
      target.ranks.waiting = false;
    }
  }

  #targetOf(i: number, nowMs: number): Target {
    const key = this.#keys[i] as string;
    const known = this.targets.get(key);
    if (known !== undefined) return known;
    const isReport = this.#types[i] === recordType.report;
    const at = (this.#offsets[i] as number) + (isReport ? reportOffset.podKey : 0);
    const portAt = (this.#offsets[i] as number) + (isReport ? reportOffset.port : podKeyBytes);
    const podKey = this.#reader.bytes.slice(at, at + podKeyBytes);
    const target = new Target(key, podKey, this.#reader.view.getUint16(portAt, true), nowMs);
    this.targets.set(key, target);
    return target;
  }

  #put(
    held: Held,
    order: Newest,
    epoch: number,
    position: number,
    bytes: Uint8Array,
    nowMs: number,
  ): boolean {
    if (!order.accept(epoch, position, nowMs)) {
      this.#counters.repeated++;
      return false;
    }
    if (held.waiting) this.#counters.collapsed++;
    this.news++;
    held.put(bytes);
    return true;
  }
}

function sameBytes(bytes: Uint8Array, offset: number, other: Uint8Array): boolean {
  for (let i = 0; i < other.length; i++) if (bytes[offset + i] !== other[i]) return false;
  return true;
}
