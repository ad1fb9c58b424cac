/**
 * Which LoRA adapters each endpoint of a pool has, as far as is known.
 *
 * Engines name the adapters that run or wait right now. One that is idle vanishes from that list
 * although it is still loaded, so absence means "not seen", not "not loaded": endpoints that ran
 * an adapter, or were sent a request for it, are remembered for a while.
 *
 * Memory is bounded by `cellsMax` (adapter × endpoint); adapters beyond it are treated as unknown
 * and counted in `dropped`.
 */
import type { Attributes } from '@leadsman/wire';

export const adapterState = { notSeen: 0, waiting: 1, seen: 2, running: 3 } as const;

/** Nine bytes a cell: 9 MB at most. */
const cellsMax = 1_048_576;
/** An idle adapter is evicted only when another needs its slot; ten minutes is a guess at that. */
const rememberMs = 600_000;

interface AdapterColumn {
  reported: Uint8Array;
  seenAtMs: Float64Array;
}

export class AdapterStates {
  /** Adapters that run or wait, by position; -1 where the engine does not say. */
  active = new Int32Array(0);
  /** Adapters for which there was no room. */
  dropped = 0;
  #columns = new Map<string, AdapterColumn>();
  #baseModels = new Set<string>();
  #count = 0;

  /** Takes over a membership; `kept[i]` is the old position of the new position i, or -1. */
  carryOver(kept: readonly number[]): void {
    for (const column of this.#columns.values()) {
      const before = column.seenAtMs;
      column.seenAtMs = Float64Array.from(kept, (old) => (old < 0 ? Number.NaN : before[old]!));
      column.reported = new Uint8Array(kept.length);
    }
    this.#count = kept.length;
  }

  /** Reads the attributes of every position anew. */
  rebuild(
    count: number,
    attributesOf: (position: number) => Attributes | undefined,
    nowMs: number,
  ): void {
    this.#count = count;
    this.active = new Int32Array(count).fill(-1);
    this.#baseModels.clear();
    for (const column of this.#columns.values()) column.reported.fill(adapterState.notSeen);
    for (let position = 0; position < count; position++) {
      const attributes = attributesOf(position);
      if (attributes === undefined) continue;
      for (const model of attributes.models) this.#baseModels.add(model);
      const { loraRunning, loraWaiting } = attributes;
      for (const name of loraWaiting ?? []) this.#mark(name, position, adapterState.waiting, nowMs);
      for (const name of loraRunning ?? []) this.#mark(name, position, adapterState.running, nowMs);
      if (loraRunning !== undefined || loraWaiting !== undefined) {
        this.active[position] = new Set([...(loraRunning ?? []), ...(loraWaiting ?? [])]).size;
      }
    }
    this.#forgetOld(nowMs);
  }

  /** Whether any endpoint was ever seen with this adapter. */
  isKnown(name: string): boolean {
    return this.#columns.has(name);
  }

  /** Whether the name is that of a model that an engine serves without an adapter. */
  isBaseModel(name: string): boolean {
    return this.#baseModels.has(name);
  }

  /** `adapterState.x` of an adapter at a position. */
  stateOf(name: string, position: number, nowMs: number): number {
    const column = this.#columns.get(name);
    if (column === undefined) return adapterState.notSeen;
    const reported = column.reported[position]!;
    if (reported !== adapterState.notSeen) return reported;
    const isRemembered = nowMs - column.seenAtMs[position]! <= rememberMs;
    return isRemembered ? adapterState.seen : adapterState.notSeen;
  }

  /** Remembers that a request for the adapter was sent to a position. */
  markSent(name: string, position: number, nowMs: number): void {
    const column = this.#columnOf(name);
    if (column !== undefined) column.seenAtMs[position] = nowMs;
  }

  #mark(name: string, position: number, state: number, nowMs: number): void {
    const column = this.#columnOf(name);
    if (column === undefined) return;
    column.reported[position] = state;
    // A waiting adapter is not loaded yet.
    if (state === adapterState.running) column.seenAtMs[position] = nowMs;
  }

  #columnOf(name: string): AdapterColumn | undefined {
    const known = this.#columns.get(name);
    if (known !== undefined) return known;
    if ((this.#columns.size + 1) * this.#count > cellsMax) {
      this.dropped++;
      return undefined;
    }
    const column: AdapterColumn = {
      reported: new Uint8Array(this.#count),
      seenAtMs: new Float64Array(this.#count).fill(Number.NaN),
    };
    this.#columns.set(name, column);
    return column;
  }

  #forgetOld(nowMs: number): void {
    for (const [name, column] of this.#columns) {
      const isAlive =
        column.reported.some((state) => state !== adapterState.notSeen) ||
        column.seenAtMs.some((seenAtMs) => nowMs - seenAtMs <= rememberMs);
      if (!isAlive) this.#columns.delete(name);
    }
  }
}
