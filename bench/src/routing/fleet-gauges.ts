/** The engine models' gauges in the shape in which a worker reads the fleet view: slot = pod. */
import type { GaugeSource } from '@leadsman/scheduling/worker/candidates/gauge-source';
import type { EngineGauges } from '@leadsman/testing';
import { metric, reason } from '@leadsman/wire';

export class FleetGauges implements GaugeSource {
  readonly changed: Int32Array;
  changedCount = 0;
  identitiesChanged = false;
  readonly slots: number;
  readonly #podKeys: readonly string[];
  readonly #kvCapacityTokens: number;
  readonly #latest: (Readonly<EngineGauges> | undefined)[];
  readonly #measuredAtMs: Float64Array;
  readonly #pending: Int32Array;
  #pendingCount = 0;
  #appeared = false;

  constructor(podKeys: readonly string[], kvCapacityTokens: number) {
    const pods = podKeys.length;
    this.#podKeys = podKeys;
    this.slots = pods;
    this.changed = new Int32Array(pods);
    this.#pending = new Int32Array(pods);
    this.#latest = new Array(pods).fill(undefined);
    this.#measuredAtMs = new Float64Array(pods);
    this.#kvCapacityTokens = kvCapacityTokens;
  }

  put(pod: number, gauges: Readonly<EngineGauges>, measuredAtMs: number): void {
    if (this.#latest[pod] === undefined) this.#appeared = true;
    this.#latest[pod] = gauges;
    this.#measuredAtMs[pod] = measuredAtMs;
    if (!this.#pending.subarray(0, this.#pendingCount).includes(pod)) {
      this.#pending[this.#pendingCount++] = pod;
    }
  }

  refresh(): boolean {
    this.changed.set(this.#pending);
    this.changedCount = this.#pendingCount;
    this.#pendingCount = 0;
    this.identitiesChanged = this.#appeared;
    this.#appeared = false;
    return this.identitiesChanged;
  }

  slotOf(podKey: string): number {
    return this.#podKeys.indexOf(podKey);
  }

  isUsed(slot: number): boolean {
    return this.#latest[slot] !== undefined;
  }

  numberOf(slot: number, wanted: number): number {
    const gauges = this.#latest[slot];
    if (gauges === undefined) return Number.NaN;
    switch (wanted) {
      case metric.runningRequests:
        return gauges.running;
      case metric.waitingRequests:
        return gauges.waiting;
      case metric.kvCacheUsageRatio:
      case metric.kvCacheUsageMaxRatio:
        return gauges.kvUsageRatio;
      case metric.kvCacheCapacityTokens:
        return this.#kvCapacityTokens;
      case metric.prefixCacheHitsTotal:
        return gauges.prefixHitTokensTotal;
      case metric.prefixCacheQueriesTotal:
        return gauges.prefixQueryTokensTotal;
      case metric.interTokenSecondsSum:
        return gauges.interTokenSumMs / 1000;
      case metric.interTokenCount:
        return gauges.interTokenCount;
      default:
        return Number.NaN;
    }
  }

  measuredAtMs(slot: number): number {
    return this.#measuredAtMs[slot]!;
  }

  /** A model's engines report from where they are. */
  isAt(): boolean {
    return true;
  }

  reason(): number {
    return reason.ok;
  }

  flags(): number {
    return 0;
  }

  attributes(): undefined {
    return undefined;
  }
}
