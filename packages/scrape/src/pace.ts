/**
 * When to scrape next. Pure: durations and the time go in, a delay comes out.
 *
 * Three wishes, from the strongest to the weakest:
 * 1. Scraping takes at most `share` of the engine's time: the interval is at least the median
 *    duration of a scrape divided by it. Rendering a page runs on the event loop that serves
 *    requests.
 * 2. Never planned slower than `intervalMsMax`: older numbers are of no use to a picker.
 * 3. As often as `intervalMs`; up to `idleIntervalMs` when the engine has nothing to do and
 *    nothing changes, and up to `intervalMsMax` while scrapes fail.
 *
 * With a grid (grid.ts) each interval is changed a little so that scrapes come to begin at the
 * grid's moments; one that was thrown off by a slow scrape is back after a few. Without a grid the
 * intervals vary a little, so that targets that began together do not stay together. Either changes
 * a planned interval by a tenth at most, also one that is at a bound, and never below the share.
 */
import { type Grid, nearestOnGrid, nextOnGrid } from './grid.ts';

export interface PaceSettings {
  /** Wanted time between the beginnings of two scrapes. */
  intervalMs: number;
  /** Bound for an idle engine whose numbers stand still. */
  idleIntervalMs: number;
  /** Bound in all other cases, slow and failing engines included. */
  intervalMsMax: number;
  /** Largest share of the engine's time that scraping may take, 0..1. */
  share: number;
  /** Moments to begin at; `undefined`: at moments of the target's own. */
  grid?: Grid | undefined;
}

export interface ScrapeOutcome {
  durationMs: number;
  failed: boolean;
  /** Neither running nor waiting requests, and the same numbers as before. */
  idle: boolean;
  /** It cost more than the scrapes around it are to cost, and its duration tells nothing of them. */
  isCheck?: boolean;
}

/**
 * Durations whose median counts. A scrape now and then takes ten times as long for reasons that
 * are not the engine's (a new connection, our own start, a busy node); a page that really got
 * slower is believed after five.
 */
const durationsKept = 9;
/** Idle scrapes before the interval grows: half a second at the default interval. */
const idleScrapesAtFirst = 10;
const growth = 1.25;
/** Width of the intervals' variation without a grid, as a share of the interval. */
const jitter = 0.1;
/** How far an interval may be changed to end nearer to the grid, as a share of it. */
const give = 0.1;

export class Pace {
  readonly #settings: PaceSettings;
  readonly #random: () => number;
  readonly #durationsMs: number[] = [];
  #smoothedMs = Number.NaN;
  #idleScrapes = 0;
  #failures = 0;
  #intervalMs: number;

  constructor(settings: PaceSettings, random: () => number) {
    this.#settings = settings;
    this.#random = random;
    this.#intervalMs = settings.intervalMs;
  }

  /** The planned time between two scrapes, without jitter. */
  get intervalMs(): number {
    return this.#intervalMs;
  }

  /** The median duration of the latest scrapes; NaN before the first. */
  get durationMs(): number {
    return this.#smoothedMs;
  }

  /** Scrapes cost something else from now on: the durations so far count no longer. */
  forget(): void {
    this.#durationsMs.length = 0;
  }

  /** Until the grid's next moment, or a random part of the interval. */
  firstDelayMs(nowMs: number): number {
    const { grid, intervalMs } = this.#settings;
    return grid === undefined ? this.#random() * intervalMs : nextOnGrid(grid, nowMs) - nowMs;
  }

  /** Takes in a scrape that ended at `nowMs`; the delay from then to the beginning of the next. */
  next(outcome: ScrapeOutcome, nowMs: number): number {
    const { durationMs } = outcome;
    if (!outcome.isCheck || this.#durationsMs.length === 0) this.#smooth(durationMs);
    this.#idleScrapes = outcome.idle ? this.#idleScrapes + 1 : 0;
    this.#failures = outcome.failed ? this.#failures + 1 : 0;
    this.#intervalMs = this.#plan();
    // A scrape as long as its interval must still leave the engine some time for itself.
    const restMs = Math.min(this.#settings.intervalMs, durationMs);
    return Math.max(restMs, this.#fromStartMs(nowMs - durationMs) - durationMs);
  }

  /** Time between the beginning at `startedMs` and the next one. */
  #fromStartMs(startedMs: number): number {
    const { grid } = this.#settings;
    const affordableMs = this.#affordableMs();
    if (grid === undefined) {
      return Math.max(affordableMs, this.#intervalMs * (1 + jitter * (this.#random() - 0.5)));
    }
    const wantedMs = startedMs + this.#intervalMs;
    const giveMs = give * this.#intervalMs;
    const shiftMs = nearestOnGrid(grid, wantedMs) - wantedMs;
    const boundedMs = Math.max(-giveMs, Math.min(giveMs, shiftMs));
    return Math.max(affordableMs, this.#intervalMs + boundedMs);
  }

  /** The lower median: of two scrapes, the second tells better than the first, which connects. */
  #smooth(durationMs: number): void {
    this.#durationsMs.push(durationMs);
    if (this.#durationsMs.length > durationsKept) this.#durationsMs.shift();
    const sorted = this.#durationsMs.toSorted((left, right) => left - right);
    this.#smoothedMs = sorted[(sorted.length - 1) >> 1] as number;
  }

  #plan(): number {
    const { intervalMs, idleIntervalMs, intervalMsMax } = this.#settings;
    let wantedMs = intervalMs;
    if (this.#failures > 0) {
      wantedMs = intervalMs * 2 ** Math.min(10, this.#failures - 1);
    } else if (this.#idleScrapes > idleScrapesAtFirst) {
      const slower = intervalMs * growth ** Math.min(50, this.#idleScrapes - idleScrapesAtFirst);
      wantedMs = Math.min(Math.max(idleIntervalMs, intervalMs), slower);
    }
    return Math.min(intervalMsMax, Math.max(wantedMs, this.#affordableMs()));
  }

  /** The shortest interval that keeps to the share, at most the bound. */
  #affordableMs(): number {
    return Math.min(this.#settings.intervalMsMax, this.#smoothedMs / this.#settings.share);
  }
}
