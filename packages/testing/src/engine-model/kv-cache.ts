/**
 * The KV blocks of one modelled engine. Blocks are counted, not stored: a block is private to one
 * sequence (a mere number), or it carries the hash of a prompt block and can be shared. A hashed
 * block without users stays cached, least recently used first out, until its room is needed.
 *
 * Invariants: used + idle ≤ blocksTotal; a slot is in the idle list exactly when its refs are 0.
 * Cost: O(1) per block; no allocation after construction but the map's own.
 */
export class KvCache {
  readonly blocksTotal: number;
  /** Blocks that some sequence holds, private and hashed. */
  used = 0;
  /** Hashed blocks without users: cached, and free for the asking. */
  idle = 0;
  readonly #slotOf = new Map<number, number>();
  readonly #hash: Float64Array;
  readonly #refs: Int32Array;
  /** Idle list, doubly linked; entry `blocksTotal` is its sentinel, whose next is the oldest. */
  readonly #previous: Int32Array;
  readonly #next: Int32Array;
  readonly #freeSlots: Int32Array;
  #freeCount: number;

  constructor(blocksTotal: number) {
    if (!Number.isInteger(blocksTotal) || blocksTotal < 1) throw new RangeError('blocksTotal');
    this.blocksTotal = blocksTotal;
    this.#hash = new Float64Array(blocksTotal);
    this.#refs = new Int32Array(blocksTotal);
    this.#previous = new Int32Array(blocksTotal + 1).fill(blocksTotal);
    this.#next = new Int32Array(blocksTotal + 1).fill(blocksTotal);
    this.#freeSlots = Int32Array.from({ length: blocksTotal }, (_, i) => blocksTotal - 1 - i);
    this.#freeCount = blocksTotal;
  }

  /** How many leading hashes of the first `count` are cached. */
  match(hashes: ArrayLike<number>, count: number): number {
    let matched = 0;
    while (matched < count && this.#slotOf.has(hashes[matched]!)) matched++;
    return matched;
  }

  /** Of the first `count` hashes, all cached, how many have no user. */
  idleAmong(hashes: ArrayLike<number>, count: number): number {
    let idle = 0;
    for (let i = 0; i < count; i++) {
      if (this.#refs[this.#slotOf.get(hashes[i]!)!] === 0) idle++;
    }
    return idle;
  }

  /** Takes one more use of a cached block and returns its slot; the hash must be cached. */
  share(hash: number): number {
    const slot = this.#slotOf.get(hash);
    if (slot === undefined) throw new Error('no such block');
    if (this.#refs[slot]! === 0) {
      this.#unlink(slot);
      this.idle--;
      this.used++;
    }
    this.#refs[slot]! += 1;
    return slot;
  }

  /** Takes `count` private blocks, evicting idle ones as needed; false (and nothing) if full. */
  allocate(count: number): boolean {
    if (this.used + count > this.blocksTotal) return false;
    this.used += count;
    while (this.used + this.idle > this.blocksTotal) this.#evictOldest();
    return true;
  }

  /**
   * Turns one private block, already counted, into a shared one under `hash`. Returns its slot,
   * or -1 when another block has that hash: then the block stays private.
   */
  adopt(hash: number): number {
    if (this.#slotOf.has(hash)) return -1;
    const slot = this.#freeSlots[--this.#freeCount]!;
    this.#slotOf.set(hash, slot);
    this.#hash[slot] = hash;
    this.#refs[slot] = 1;
    return slot;
  }

  /** Gives up one use of a hashed block; the last one leaves it cached as most recently used. */
  releaseShared(slot: number): void {
    const refs = --this.#refs[slot]!;
    if (refs > 0) return;
    if (refs < 0) throw new Error('block released twice');
    const end = this.blocksTotal;
    const newest = this.#previous[end]!;
    this.#next[newest] = slot;
    this.#previous[slot] = newest;
    this.#next[slot] = end;
    this.#previous[end] = slot;
    this.used--;
    this.idle++;
  }

  releasePrivate(count: number): void {
    this.used -= count;
  }

  #evictOldest(): void {
    const slot = this.#next[this.blocksTotal]!;
    this.#unlink(slot);
    this.#slotOf.delete(this.#hash[slot]!);
    this.#freeSlots[this.#freeCount++] = slot;
    this.idle--;
  }

  #unlink(slot: number): void {
    const before = this.#previous[slot]!;
    const after = this.#next[slot]!;
    this.#next[before] = after;
    this.#previous[after] = before;
  }
}
