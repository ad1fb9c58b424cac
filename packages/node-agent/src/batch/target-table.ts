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
  /** Of the loaded frame, per record: its target, and where it states an address (-1: nowhere). */
  readonly #keys: string[] = [];
  readonly #addresses: number[] = [];
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
    this.#reader.rewind();
    for (const key of this.#keys) {
      this.#reader.next();
      this.#apply(key, nowMs);
    }
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
    this.#keys.length = 0;
    this.#addresses.length = 0;
    while (reader.next()) {
      this.#keys.push(`${podKeyText(reader.bytes, reader.keyByte)}/${reader.port}`);
      this.#addresses.push(reader.type === recordType.report ? reader.addressByte : -1);
    }
  }

  #speaksFor(peer: Uint8Array, nowMs: number): boolean {
    for (const [i, key] of this.#keys.entries()) {
      const target = this.targets.get(key);
      const addressAt = this.#addresses[i] as number;
      if (addressAt >= 0) {
        if (!sameBytes(this.#reader.bytes, addressAt, peer)) return false;
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
    return this.#keys.some((other, i) => other === key && (this.#addresses[i] as number) >= 0);
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

  /** Applies the record that the reader is at. */
  #apply(key: string, nowMs: number): void {
    const reader = this.#reader;
    const target = this.#targetOf(key, nowMs);
    target.heardMs = nowMs;
    if (reader.type === recordType.report) {
      this.#counters.reports++;
      const waited = target.report.waiting;
      if (!this.#put(target.report, target.reportOrder, nowMs)) return;
      if (!waited) this.waitingReports++;
      target.reportedMs = nowMs;
      if (target.ended) this.#ended--;
      target.gone.bytes = undefined;
      target.gone.waiting = false;
      const addressAt = reader.addressByte;
      target.address.set(reader.bytes.subarray(addressAt, addressAt + addressBytes));
    } else if (reader.type === recordType.attributes) {
      this.#put(target.attributes, target.attributesOrder, nowMs);
    } else if (reader.type === recordType.ranks) {
      this.#put(target.ranks, target.ranksOrder, nowMs);
    } else {
      const ended = target.ended;
      if (!this.#put(target.gone, target.reportOrder, nowMs)) return;
      if (!ended) this.#ended++;
      if (target.report.waiting) this.waitingReports--;
      target.report.waiting = false;
      target.attributes.waiting = false;
      target.ranks.waiting = false;
    }
  }

  #targetOf(key: string, nowMs: number): Target {
    const known = this.targets.get(key);
    if (known !== undefined) return known;
    const { bytes, keyByte, port } = this.#reader;
    const target = new Target(key, bytes.slice(keyByte, keyByte + podKeyBytes), port, nowMs);
    this.targets.set(key, target);
    return target;
  }

  /** Keeps a copy of the record that the reader is at, if it is newer than what is held. */
  #put(held: Held, order: Newest, nowMs: number): boolean {
    const { bytes, offset, length, epoch, position } = this.#reader;
    if (!order.accept(epoch, position, nowMs)) {
      this.#counters.repeated++;
      return false;
    }
    if (held.waiting) this.#counters.collapsed++;
    this.news++;
    held.put(bytes.subarray(offset, offset + length));
    return true;
  }
}

function sameBytes(bytes: Uint8Array, offset: number, other: Uint8Array): boolean {
  for (let i = 0; i < other.length; i++) if (bytes[offset + i] !== other[i]) return false;
  return true;
}
