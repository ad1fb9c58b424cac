/**
 * When a picker should get traffic: its membership is complete, its view was complete once, and
 * its workers serve.
 *
 * The view alone may be waited for only so long: a picker that restarts while its broker is away
 * still spreads requests over the members it knows, which is better than none at all.
 */
export interface ReadinessParts {
  /** From the membership source. */
  membership: () => string | undefined;
  viewSynced: () => boolean;
  /** All workers have listened once, and one does. */
  workersServing: () => boolean;
  nowMs: () => number;
  /** How long to wait for the view at most, ms from the start. */
  readyAfterMs: number;
}

export class Readiness {
  readonly #parts: ReadinessParts;
  readonly #startedAtMs: number;
  #draining = false;

  constructor(parts: ReadinessParts) {
    this.#parts = parts;
    this.#startedAtMs = parts.nowMs();
  }

  startDraining(): void {
    this.#draining = true;
  }

  /** What is missing, in one line; `undefined` when traffic should come. */
  missing(): string | undefined {
    if (this.#draining) return 'draining';
    if (!this.#parts.workersServing()) return 'ext_proc workers are starting';
    const membership = this.#parts.membership();
    if (membership !== undefined) return membership;
    const waitedMs = this.#parts.nowMs() - this.#startedAtMs;
    if (this.#parts.viewSynced() || waitedMs >= this.#parts.readyAfterMs) return undefined;
    return 'the fleet view has not been complete yet';
  }
}
