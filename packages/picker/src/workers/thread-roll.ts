/**
 * Which ext_proc threads serve, and which have drained: what readiness and the end of the process
 * are decided by.
 *
 * At the start every thread must listen before traffic comes. Later one that listens is enough:
 * while a thread that died is being started again, the others have its share, and a picker that
 * went out of service for that would turn one thread's fault into an outage.
 */
export class ThreadRoll {
  readonly #threads: number;
  readonly #listening = new Set<number>();
  readonly #drained = new Set<number>();
  #complete = false;

  constructor(threads: number) {
    this.#threads = threads;
  }

  /** Whether traffic may come. */
  get serving(): boolean {
    return this.#complete && this.#listening.size > 0;
  }

  listening(thread: number): void {
    this.#listening.add(thread);
    if (this.#listening.size === this.#threads) this.#complete = true;
  }

  drained(thread: number): void {
    this.#drained.add(thread);
  }

  /** A thread ended: it listens no more, and there is nothing of it left to drain. */
  ended(thread: number): void {
    this.#listening.delete(thread);
    this.#drained.delete(thread);
  }

  /** Whether all of so many threads that still run have drained. */
  allDrained(running: number): boolean {
    return this.#drained.size >= running;
  }
}
