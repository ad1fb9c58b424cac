/**
 * A binary heap of entries by a fixed key, ties by order of arrival, from which any entry can be
 * taken out. Cost: O(log n) per push, pop and removal; no allocation besides the array's growth.
 *
 * ```
 *            entries[0]  least key
 *           /          \
 *   entries[1]        entries[2]        entry.at = its place
 * ```
 */

export interface HeapEntry {
  key: number;
  /** Order of arrival; unique within the heap. */
  order: number;
  /** Place in the heap, -1 outside of it. Written by the heap. */
  at: number;
}

export class OrderedHeap<Entry extends HeapEntry> {
  readonly #entries: Entry[] = [];

  get size(): number {
    return this.#entries.length;
  }

  /** The entry with the least key; `undefined` when empty. */
  get first(): Entry | undefined {
    return this.#entries[0];
  }

  push(entry: Entry): void {
    entry.at = this.#entries.length;
    this.#entries.push(entry);
    this.#up(entry);
  }

  /** Takes an entry out; ignored when it is not in a heap. */
  remove(entry: Entry): void {
    const { at } = entry;
    if (at < 0) return;
    entry.at = -1;
    const last = this.#entries.pop()!;
    if (last === entry) return;
    this.#place(last, at);
    this.#up(last);
    this.#down(last);
  }

  /** All entries, in no order. */
  values(): readonly Entry[] {
    return this.#entries;
  }

  #up(entry: Entry): void {
    for (;;) {
      if (entry.at === 0) return;
      const parent = this.#entries[(entry.at - 1) >> 1]!;
      if (!isBefore(entry, parent)) return;
      this.#swap(entry, parent);
    }
  }

  #down(entry: Entry): void {
    for (;;) {
      const left = entry.at * 2 + 1;
      let least = this.#entries[left];
      if (least === undefined) return;
      const right = this.#entries[left + 1];
      if (right !== undefined && isBefore(right, least)) least = right;
      if (!isBefore(least, entry)) return;
      this.#swap(least, entry);
    }
  }

  #swap(a: Entry, b: Entry): void {
    const { at } = a;
    this.#place(a, b.at);
    this.#place(b, at);
  }

  #place(entry: Entry, at: number): void {
    this.#entries[at] = entry;
    entry.at = at;
  }
}

function isBefore(a: HeapEntry, b: HeapEntry): boolean {
  return a.key < b.key || (a.key === b.key && a.order < b.order);
}
