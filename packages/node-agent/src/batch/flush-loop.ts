/**
 * Calls the batcher when it is due: the one timer of the agent's data path.
 *
 * A batch that is due at once waits for the end of this turn of the event loop, so that reports
 * which arrived together leave together.
 */
import type { Batcher } from './batcher.ts';

/** Node's timers have this grain, and fire late rather than early. */
const timerGrainMs = 1;

export class FlushLoop {
  readonly #batcher: Batcher;
  readonly #nowMs: () => number;
  #timer: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;
  #armedMs = Number.POSITIVE_INFINITY;
  #stopped = false;

  constructor(batcher: Batcher, nowMs: () => number) {
    this.#batcher = batcher;
    this.#nowMs = nowMs;
    this.wake();
  }

  /** To be called after something was taken. Costs a comparison when nothing changes. */
  wake(): void {
    if (this.#stopped || this.#immediate !== undefined) return;
    const dueMs = this.#batcher.dueMs();
    if (dueMs >= this.#armedMs) return;
    clearTimeout(this.#timer);
    this.#armedMs = dueMs;
    const waitMs = dueMs - this.#nowMs();
    if (waitMs < timerGrainMs) this.#immediate = setImmediate(() => this.#fire());
    else this.#timer = setTimeout(() => this.#fire(), waitMs);
  }

  /** Sends what waits, and ends. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    clearImmediate(this.#immediate);
    const dueMs = this.#batcher.dueMs();
    const nowMs = this.#nowMs();
    if (dueMs <= nowMs + this.#batcher.bounds.windowMs) this.#batcher.flush(Math.max(nowMs, dueMs));
  }

  #fire(): void {
    this.#immediate = undefined;
    this.#armedMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#nowMs();
    const dueMs = this.#batcher.dueMs();
    // A timer may fire a fraction of its grain before the time asked for; what came meanwhile may
    // have moved that time.
    if (dueMs - nowMs < timerGrainMs) this.#batcher.flush(Math.max(nowMs, dueMs));
    this.wake();
  }
}
