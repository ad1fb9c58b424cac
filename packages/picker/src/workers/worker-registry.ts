/**
 * Which workers serve, and which have drained: what readiness and the end of the process
 * are decided by.
 *
 * At the start every worker must listen before traffic comes. Later one that listens is enough:
 * while a worker that died is being started again, the others have its share, and a picker that
 * went out of service for that would turn one worker's fault into an outage.
 */
export class WorkerRegistry {
  readonly #workers: number;
  readonly #listening = new Set<number>();
  readonly #drained = new Set<number>();
  #complete = false;

  constructor(workers: number) {
    this.#workers = workers;
  }

  /** Whether traffic may come. */
  get serving(): boolean {
    return this.#complete && this.#listening.size > 0;
  }

  listening(worker: number): void {
    this.#listening.add(worker);
    if (this.#listening.size === this.#workers) this.#complete = true;
  }

  drained(worker: number): void {
    this.#drained.add(worker);
  }

  /** A worker ended: it listens no more, and there is nothing of it left to drain. */
  ended(worker: number): void {
    this.#listening.delete(worker);
    this.#drained.delete(worker);
  }

  /** Whether all of so many threads that still run have drained. */
  allDrained(running: number): boolean {
    return this.#drained.size >= running;
  }
}
