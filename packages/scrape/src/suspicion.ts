/**
 * Tells a wedged engine from a busy and from an idle one. A page may answer at once and still be
 * stale inside: the gauges claim work while every token counter, and every other sign that the
 * engine steps, stands still. Such numbers are *suspect*. An engine that claims no work never is,
 * however long it stands still; nor is one that exposes no sign of progress.
 */

export interface SuspicionSettings {
  /** Scrapes in a row without progress... */
  scrapes: number;
  /** ...and the time since the first of them. A long prefill moves no token counter. */
  forMs: number;
}

export interface Observation {
  nowMs: number;
  /** Running or waiting requests. */
  claimsWork: boolean;
  /** Numbers of which any movement is progress; NaN = unknown. */
  progress: readonly number[];
}

export class Suspicion {
  readonly #settings: SuspicionSettings;
  #progress: readonly number[] = [];
  #flatScrapes = 0;
  #flatSinceMs = 0;

  constructor(settings: SuspicionSettings) {
    this.#settings = settings;
  }

  /** Takes in a successful scrape; whether its numbers are suspect. */
  observe(observation: Observation): boolean {
    const { nowMs, claimsWork, progress } = observation;
    const visible = progress.some((value) => !Number.isNaN(value));
    const moved = progress.some((value, i) => !Object.is(value, this.#progress[i]));
    this.#progress = progress;
    if (!claimsWork || !visible || moved) {
      this.#flatScrapes = 0;
      this.#flatSinceMs = nowMs;
      return false;
    }
    this.#flatScrapes++;
    return (
      this.#flatScrapes >= this.#settings.scrapes &&
      nowMs - this.#flatSinceMs >= this.#settings.forMs
    );
  }
}
