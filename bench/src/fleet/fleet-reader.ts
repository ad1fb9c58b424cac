/**
 * A reader of the view as a picker's worker is one: it refreshes every few milliseconds and looks
 * at what changed. For each change of an engine's number it notes how long the change took to be
 * seen here, and it checks that what it sees was true at some moment, and never goes back.
 */

import { monotonicMs } from '@leadsman/service';
import type { ViewReader } from '@leadsman/view/reader';
import { metricsCount } from '@leadsman/wire';
import { DurationHistogram } from './histogram.ts';
import { changedAtMs, type FleetPlan, podKeyTextOf, readNumbers } from './plan.ts';

/** Distance of two refreshes, ms: what a picker's worker does at most. */
const refreshEveryMs = 2;

export class FleetReader {
  readonly freshness = new DurationHistogram();
  /** Changes seen later than twice the interval. */
  late = 0;
  /** Numbers that were never true together. */
  wrong = 0;
  /** Numbers older than what was seen before. */
  wentBack = 0;
  /** Count of the newest change seen, per pod; -1: none yet. */
  readonly seen: Float64Array;
  /** Whether changes are being measured. */
  measuring = false;
  readonly #plan: FleetPlan;
  readonly #view: ViewReader;
  readonly #podByKey = new Map<string, number>();
  readonly #podBySlot: number[] = [];
  readonly #generations: number[] = [];
  readonly #numbers = new Float64Array(metricsCount);
  readonly #timer: NodeJS.Timeout;

  constructor(plan: FleetPlan, view: ViewReader) {
    this.#plan = plan;
    this.#view = view;
    const pods = plan.nodes * plan.podsPerNode;
    this.seen = new Float64Array(pods).fill(-1);
    for (let pod = 0; pod < pods; pod++) this.#podByKey.set(podKeyTextOf(pod), pod);
    this.#timer = setInterval(() => this.#look(), refreshEveryMs);
  }

  get known(): number {
    let known = 0;
    for (const count of this.seen) if (count >= 0) known++;
    return known;
  }

  /** How far the worst pod is behind: age of the change that should be visible by now, ms. */
  worstAgeMs(nowMs: number): number {
    let worst = 0;
    for (let pod = 0; pod < this.seen.length; pod++) {
      const count = this.seen[pod] as number;
      if (count < 0) return Number.POSITIVE_INFINITY;
      worst = Math.max(worst, nowMs - changedAtMs(this.#plan, pod, count + 1));
    }
    return worst;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const view = this.#view;
    view.refresh();
    const nowMs = monotonicMs();
    for (let i = 0; i < view.changedCount; i++) {
      const slot = view.changed[i] as number;
      if (!view.copyNumbers(slot, this.#numbers, 0)) continue;
      this.#see(this.#podOf(slot), nowMs);
    }
  }

  #podOf(slot: number): number {
    const generation = this.#view.generation(slot);
    if (this.#generations[slot] !== generation) {
      this.#generations[slot] = generation;
      this.#podBySlot[slot] = this.#podByKey.get(this.#view.podKey(slot)) ?? -1;
    }
    return this.#podBySlot[slot] as number;
  }

  #see(pod: number, nowMs: number): void {
    const count = pod < 0 ? Number.NaN : readNumbers(pod, this.#numbers);
    if (Number.isNaN(count) || changedAtMs(this.#plan, pod, count) > nowMs) {
      this.wrong++;
      return;
    }
    const before = this.seen[pod] as number;
    if (count < before) this.wentBack++;
    this.seen[pod] = count;
    if (!this.measuring || before < 0) return;
    for (let change = before + 1; change <= count; change++) {
      const ms = nowMs - changedAtMs(this.#plan, pod, change);
      this.freshness.add(ms);
      if (ms > 2 * this.#plan.intervalMs) this.late++;
    }
  }
}
