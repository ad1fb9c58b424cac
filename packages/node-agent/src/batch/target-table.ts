/**
 * The newest records of the node's targets, taken from frames.
 *
 * A frame is applied whole or not at all: it is checked first (bytes, then who speaks for whom),
 * and only then applied. A sender speaks for a pod if its peer address is the address in the
 * pod's report, and that is the pod's own: where the API server's list of the node's pods is known,
 * the address that it states; else the address that first reported for the pod, all its ports
 * together, until that has fallen silent. Records that carry no address (attributes, ranks, gone)
 * must follow such a report in the same frame or in an earlier one.
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
import { type Held, KnownTarget, type Newest } from './target.ts';

/** `taken`, or why nothing of the frame was. */
export type TakeResult =
  | { status: 'taken' }
  | { status: 'bad_frame'; code: WireErrorCode }
  | { status: 'wrong_peer' }
  /** A pod that is not on this node, by the API server's list. */
  | { status: 'foreign_pod' }
  | { status: 'full' }
  /** Nobody knows how old it is, as this process has just stood still; the next will do. */
  | { status: 'stalled' };

const taken: TakeResult = { status: 'taken' };
const wrongPeer: TakeResult = { status: 'wrong_peer' };
const foreignPod: TakeResult = { status: 'foreign_pod' };
const full: TakeResult = { status: 'full' };

/** The pods of this node, by who can prove it. */
export interface PodDirectory {
  /** Whether the list is known; while it is not, nothing is concluded from it. */
  readonly listed: boolean;
  /**
   * The addresses (16 bytes each) of a pod by its key as text; empty when it has none yet,
   * `undefined` when it is none of this node's.
   */
  addressesOf(podKey: string): readonly Uint8Array[] | undefined;
}

/** From where a pod reports, and when it was last heard. */
interface Binding {
  readonly address: Uint8Array;
  heardMs: number;
}

export class TargetTable {
  readonly targets = new Map<string, KnownTarget>();
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
  readonly #directory: PodDirectory | undefined;
  /** By pod key as text; a pod has a binding only while it has targets. */
  readonly #bindings = new Map<string, Binding>();
  readonly #reader = new FrameReader();
  /** Of the loaded frame, per record: its target, and where it states an address (-1: nowhere). */
  readonly #keys: string[] = [];
  readonly #addresses: number[] = [];
  /** Targets that the loaded frame adds. */
  readonly #fresh = new Set<string>();

  constructor(bounds: BatchBounds, counters: BatchCounters, directory?: PodDirectory) {
    this.#bounds = bounds;
    this.#counters = counters;
    this.#directory = directory;
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
    if (peer !== undefined) {
      if (this.#hasForeignPod()) {
        this.#counters.refusedForeign++;
        return foreignPod;
      }
      if (!this.#speaksFor(peer, nowMs)) {
        this.#counters.refusedPeers++;
        return wrongPeer;
      }
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
    for (const [pod, binding] of this.#bindings) {
      if (nowMs - binding.heardMs >= this.#bounds.expireMs) this.#bindings.delete(pod);
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
        if (!this.#isPodAt(podOf(key), peer, nowMs)) return false;
      } else if (!this.#reportedHere(key)) {
        if (target === undefined || !sameBytes(target.address, 0, peer)) return false;
      }
    }
    return true;
  }

  /** Whether the frame speaks of a pod that the node's list does not have. */
  #hasForeignPod(): boolean {
    const directory = this.#directory;
    if (directory?.listed !== true) return false;
    return this.#keys.some((key) => directory.addressesOf(podOf(key)) === undefined);
  }

  /** By the node's list where that says it; else another address must wait for silence. */
  #isPodAt(pod: string, peer: Uint8Array, nowMs: number): boolean {
    const stated = this.#directory?.listed === true ? this.#directory.addressesOf(pod) : undefined;
    if (stated !== undefined && stated.length > 0) {
      return stated.some((address) => sameBytes(address, 0, peer));
    }
    const binding = this.#bindings.get(pod);
    if (binding === undefined || nowMs - binding.heardMs >= this.#bounds.expireMs) return true;
    return sameBytes(binding.address, 0, peer);
  }

  #bind(pod: string, address: Uint8Array, nowMs: number): void {
    const binding = this.#bindings.get(pod);
    if (binding === undefined)
      this.#bindings.set(pod, { address: address.slice(), heardMs: nowMs });
    else {
      binding.address.set(address);
      binding.heardMs = nowMs;
    }
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
      const addressAt = reader.addressByte;
      const address = reader.bytes.subarray(addressAt, addressAt + addressBytes);
      this.#bind(podOf(key), address, nowMs);
      const waited = target.report.waiting;
      if (!this.#put(target.report, target.reportOrder, nowMs)) return;
      if (!waited) this.waitingReports++;
      target.reportedMs = nowMs;
      if (target.ended) this.#ended--;
      target.gone.bytes = undefined;
      target.gone.waiting = false;
      target.address.set(address);
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

  #targetOf(key: string, nowMs: number): KnownTarget {
    const known = this.targets.get(key);
    if (known !== undefined) return known;
    const { bytes, keyByte, port } = this.#reader;
    const target = new KnownTarget(key, bytes.slice(keyByte, keyByte + podKeyBytes), port, nowMs);
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

/** The pod of a target: a key is `<pod key as text>/<port>`. */
function podOf(key: string): string {
  return key.slice(0, key.indexOf('/'));
}

function sameBytes(bytes: Uint8Array, offset: number, other: Uint8Array): boolean {
  for (let i = 0; i < other.length; i++) if (bytes[offset + i] !== other[i]) return false;
  return true;
}
