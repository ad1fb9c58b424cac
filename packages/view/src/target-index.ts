/**
 * Which slot describes an endpoint: an index over identities of used slots, kept up to date slot
 * by slot. Several slots of one pod (one per serving port) are chained, newest first.
 */
import { KeyIndex, parsePodKey } from './key-index.ts';

export class TargetIndex {
  readonly #slotByTarget = new KeyIndex();
  /** Pod key with port 0 → first slot of the pod's chain. */
  readonly #slotByPod = new KeyIndex();
  readonly #lookup = new Int32Array(4);
  #nextOfPod = new Int32Array(64).fill(-1);

  /** Makes room for slots below `slots`. */
  reserve(slots: number): void {
    if (slots <= this.#nextOfPod.length) return;
    const next = new Int32Array(slots).fill(-1);
    next.set(this.#nextOfPod);
    this.#nextOfPod = next;
  }

  /**
   * The slot of an endpoint by its pod's UID (as UUID text) and serving port, -1 if unknown. A pod
   * with exactly one slot is described by it whatever its port, as the port that was scraped may
   * lie behind a proxy's.
   */
  slotOf(podKey: string, port: number): number {
    if (!parsePodKey(podKey, this.#lookup, 0)) return -1;
    const exact = this.#slotByTarget.get(this.#lookup, 0, port);
    if (exact >= 0) return exact;
    const first = this.#slotByPod.get(this.#lookup, 0, 0);
    return first >= 0 && this.#nextOfPod[first] === -1 ? first : -1;
  }

  /** Whether exactly the endpoint with this pod key, at `words[key…key+3]`, and port has a slot. */
  has(words: Int32Array, key: number, port: number): boolean {
    return this.#slotByTarget.get(words, key, port) >= 0;
  }

  /** Adds a slot whose pod key lies at `words[key…key+3]`. */
  add(words: Int32Array, key: number, port: number, slot: number): void {
    this.#slotByTarget.set(words, key, port, slot);
    this.#nextOfPod[slot] = this.#slotByPod.get(words, key, 0);
    this.#slotByPod.set(words, key, 0, slot);
  }

  /** Removes a slot by the identity it was added with. */
  remove(words: Int32Array, key: number, port: number, slot: number): void {
    // An endpoint that moved to another slot may have been added there already.
    if (this.#slotByTarget.get(words, key, port) === slot) {
      this.#slotByTarget.delete(words, key, port);
    }
    const next = this.#nextOfPod[slot]!;
    this.#nextOfPod[slot] = -1;
    let before = this.#slotByPod.get(words, key, 0);
    if (before === slot) {
      if (next === -1) this.#slotByPod.delete(words, key, 0);
      else this.#slotByPod.set(words, key, 0, next);
      return;
    }
    while (before !== -1 && this.#nextOfPod[before] !== slot) before = this.#nextOfPod[before]!;
    if (before !== -1) this.#nextOfPod[before] = next;
  }
}
