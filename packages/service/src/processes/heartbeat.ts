/**
 * How a process shows that its event loop turns: it counts up in memory that its parent reads, and
 * notes how long the loop has idled. Costs nothing but a timer; a process that hangs shows it by
 * doing nothing.
 *
 * Layout: two float64 per process: beats since its start, and idle time of its loop in ms since its
 * start. One writer; a double of eight aligned bytes is never seen
 * half-written on the machines Node runs on, and a writer that dies leaves nothing to mend.
 */
import { performance } from 'node:perf_hooks';
import type { AllocateShared } from './shared-memory.ts';

/** Distance of two beats, ms. */
const beatIntervalMs = 50;

const word = { beats: 0, idleMs: 1 } as const;
const words = 2;

/** Memory for one process's heartbeat. */
export function createHeartbeat(allocate: AllocateShared): ArrayBufferLike {
  return allocate(words * Float64Array.BYTES_PER_ELEMENT);
}

/** Beats, at once and until the process ends, or the returned function is called. */
export function startHeartbeat(memory: ArrayBufferLike): () => void {
  const values = new Float64Array(memory, 0, words);
  values.fill(0);
  const beat = () => {
    values[word.idleMs] = performance.eventLoopUtilization().idle;
    values[word.beats]! += 1;
  };
  // The first one says that the start is over.
  beat();
  const timer = setInterval(beat, beatIntervalMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** The parent's side. */
export class HeartbeatReader {
  readonly #values: Float64Array;
  #seenIdleMs = 0;
  #seenAtMs = Number.NaN;

  constructor(memory: ArrayBufferLike) {
    this.#values = new Float64Array(memory, 0, words);
  }

  /** Another number than before: the process was alive in between. */
  get beats(): number {
    return this.#values[word.beats]!;
  }

  /** The process is another one, and starts from 0. */
  reset(): void {
    this.#values.fill(0);
    this.#seenIdleMs = 0;
    this.#seenAtMs = Number.NaN;
  }

  /**
   * Share of the time since the last call in which the process's event loop was busy, 0 to 1. One
   * that hangs has not idled at all. NaN at the first call: there is nothing to compare with.
   */
  busyRatio(nowMs: number): number {
    const idleMs = this.#values[word.idleMs]!;
    const ratio = 1 - (idleMs - this.#seenIdleMs) / (nowMs - this.#seenAtMs);
    this.#seenIdleMs = idleMs;
    this.#seenAtMs = nowMs;
    return Number.isNaN(ratio) ? ratio : Math.min(1, Math.max(0, ratio));
  }
}
