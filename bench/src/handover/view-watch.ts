/**
 * Watches a view as a picker's worker reads it, every two milliseconds, and notes at each look how
 * old the oldest report is, and whether each change of an endpoint is a newer report.
 */

import { monotonicMs } from '@leadsman/service';
import type { ViewReader } from '@leadsman/view/reader';

const lookEveryMs = 2;

/** What was seen in one stretch of time. */
export interface Seen {
  /** Age of the oldest report at any look, ms. */
  oldestMs: number;
  /** Ages looked at, one per endpoint and look. */
  samples: number;
  /** Of these, above the bound. */
  exceeded: number;
  /** Changes with a newer report. */
  reports: number;
  /** Changes that showed the same report again. */
  twice: number;
  /** Changes to an older report. */
  wentBack: number;
  /** Most endpoints that were missing at one look. */
  lost: number;
  /** Longest distance of two looks, ms: what may have been overlooked. */
  blindMs: number;
}

export function nothingSeen(): Seen {
  return {
    oldestMs: 0,
    samples: 0,
    exceeded: 0,
    reports: 0,
    twice: 0,
    wentBack: 0,
    lost: 0,
    blindMs: 0,
  };
}

/** Adds `more` to `to`: the most of what is a bound, the sum of what is counted. */
export function addSeen(to: Seen, more: Seen): void {
  to.oldestMs = Math.max(to.oldestMs, more.oldestMs);
  to.lost = Math.max(to.lost, more.lost);
  to.blindMs = Math.max(to.blindMs, more.blindMs);
  to.samples += more.samples;
  to.exceeded += more.exceeded;
  to.reports += more.reports;
  to.twice += more.twice;
  to.wentBack += more.wentBack;
}

interface Known {
  generation: number;
  epoch: number;
  seq: number;
  attributesVersion: number;
}

export class ViewWatch {
  readonly #view: ViewReader;
  readonly #endpoints: number;
  readonly #boundMs: number;
  readonly #known: (Known | undefined)[] = [];
  readonly #timer: NodeJS.Timeout;
  #seen = nothingSeen();
  #lookedMs = monotonicMs();

  constructor(view: ViewReader, endpoints: number, boundMs: number) {
    this.#view = view;
    this.#endpoints = endpoints;
    this.#boundMs = boundMs;
    this.#timer = setInterval(() => this.#look(), lookEveryMs);
  }

  /** Endpoints in the view. */
  get present(): number {
    let present = 0;
    for (let slot = 0; slot < this.#view.slots; slot++) if (this.#view.isUsed(slot)) present++;
    return present;
  }

  /** What was seen since the last call. */
  take(): Seen {
    const seen = this.#seen;
    this.#seen = nothingSeen();
    return seen;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const view = this.#view;
    const seen = this.#seen;
    view.refresh();
    const nowMs = monotonicMs();
    seen.blindMs = Math.max(seen.blindMs, nowMs - this.#lookedMs);
    this.#lookedMs = nowMs;
    for (let i = 0; i < view.changedCount; i++) this.#change(view.changed[i] as number);
    let present = 0;
    for (let slot = 0; slot < view.slots; slot++) {
      if (!view.isUsed(slot)) continue;
      present++;
      const ageMs = nowMs - view.measuredAtMs(slot);
      seen.samples++;
      if (ageMs > this.#boundMs) seen.exceeded++;
      seen.oldestMs = Math.max(seen.oldestMs, ageMs);
    }
    seen.lost = Math.max(seen.lost, this.#endpoints - present);
  }

  #change(slot: number): void {
    const view = this.#view;
    if (!view.isUsed(slot)) {
      this.#known[slot] = undefined;
      return;
    }
    const now: Known = {
      generation: view.generation(slot),
      epoch: view.epoch(slot),
      seq: view.seq(slot),
      attributesVersion: view.attributesVersion(slot),
    };
    const before = this.#known[slot];
    this.#known[slot] = now;
    if (before === undefined || before.generation !== now.generation) return;
    const order = now.epoch - before.epoch || now.seq - before.seq;
    if (order > 0) this.#seen.reports++;
    else if (order < 0) this.#seen.wentBack++;
    // New attributes change a slot too, and are no report.
    else if (now.attributesVersion === before.attributesVersion) this.#seen.twice++;
  }
}
