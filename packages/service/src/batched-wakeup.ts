/**
 * Batched wake-ups for a thread whose only work is to take frames.
 *
 * An event loop that waits for sockets wakes up for each piece that arrives, thousands of times a
 * second, and a waking costs more than what it brings. This thread sleeps instead, deaf to its
 * sockets, and then takes all that has gathered in them: one waking per period, whatever the
 * transport and the number of connections. Timers and messages to the thread wait with the rest.
 *
 * A period begins at the end of the last sleep. So a thread with much to do sleeps less, and one
 * that is busy for the whole period not at all: batching takes no capacity away.
 */
export class BatchedWakeup {
  readonly #periodMs: number;
  readonly #nowMs: () => number;
  /** Nobody ever wakes this word: a wait on it ends with its time. */
  readonly #word = new Int32Array(new SharedArrayBuffer(4));
  #isDue = false;
  #awakeSinceMs = Number.NEGATIVE_INFINITY;

  /** `periodMs`: from one waking to the next, at least. */
  constructor(periodMs: number, nowMs: () => number) {
    this.#periodMs = periodMs;
    this.#nowMs = nowMs;
  }

  /** To be called for each frame: the thread sleeps once all that is there has been taken. */
  frameTaken(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => this.#sleep());
  }

  #sleep(): void {
    this.#isDue = false;
    const leftMs = this.#awakeSinceMs + this.#periodMs - this.#nowMs();
    if (leftMs > 0) Atomics.wait(this.#word, 0, 0, leftMs);
    this.#awakeSinceMs = this.#nowMs();
  }
}
