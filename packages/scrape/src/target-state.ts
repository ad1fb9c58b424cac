/**
 * What is known of one target: the newest numbers, since when, and why there are none newer. It
 * turns readings and failures into reports. Pure: time comes in, nothing is awaited.
 *
 * Invariants: (epoch, seq) only grows. A failure never changes a number, it only lets it age. A
 * number that the newest page does not state is unknown, whatever it was before. A counter that
 * falls is a restart of the engine, which begins a new epoch; a difference is never negative.
 */
import {
  type Attributes,
  encodeAttributes,
  encodeGone,
  encodeRanks,
  metric,
  metricsCount,
  podKeyFromUid,
  type RankNumbers,
  type Reason,
  type Report,
  reason,
  reportBytes,
  reportFlag,
  unitOfMetric,
  writeReport,
} from '@leadsman/wire';
import { hasOtherWords, type Reading } from './engine/reading.ts';
import { Suspicion, type SuspicionSettings } from './suspicion.ts';
import type { Clock, TargetIdentity } from './target-identity.ts';

/** Metrics that never fall unless the engine restarts, by position. */
const counters = Object.entries(unitOfMetric)
  .filter(([, unit]) => unit === 'total')
  .map(([name]) => metric[name as keyof typeof metric]);

/** Metrics that differ from scrape to scrape without any change of the engine. */
const ownMetrics: readonly number[] = [metric.scrapeDurationMs, metric.scrapeIntervalMs];

export class TargetState {
  readonly identity: TargetIdentity;
  readonly podKey: Uint8Array;
  readonly #clock: Clock;
  readonly #suspicion: Suspicion;
  readonly #metrics = new Float64Array(metricsCount).fill(Number.NaN);
  #epoch: number;
  /** That no scrape has ended yet is the first thing said, so what one says is newer. */
  #seq = 1;
  #revision = 1;
  #measuredAtMs: number;
  #reason: Reason = reason.pending;
  #detail = 'no scrape has ended yet';
  #flags: number;
  #reading: Reading | undefined;
  #engineVersion = '';
  #attributesBytes: Uint8Array;
  #droppedAttributes = 0;

  constructor(identity: TargetIdentity, suspicion: SuspicionSettings, clock: Clock) {
    this.identity = identity;
    this.podKey = podKeyFromUid(identity.podUid);
    this.#clock = clock;
    this.#suspicion = new Suspicion(suspicion);
    this.#epoch = Math.max(1, Math.floor(clock.unixMs()));
    this.#measuredAtMs = clock.nowMs();
    this.#flags = identity.reporter === 'agent' ? reportFlag.byAgent : 0;
    this.#attributesBytes = this.#encodeAttributes();
  }

  get reason(): Reason {
    return this.#reason;
  }

  /** One line that explains the reason; empty when all is well. */
  get detail(): string {
    return this.#detail;
  }

  /** The newest reading, for people; its numbers are those of the report. */
  get reading(): Reading | undefined {
    return this.#reading;
  }

  get epoch(): number {
    return this.#epoch;
  }

  get seq(): number {
    return this.#seq;
  }

  /** Order among the attributes of an epoch; grows with each change. */
  get revision(): number {
    return this.#revision;
  }

  /** Attribute values that did not fit the wire's bounds. */
  get droppedAttributes(): number {
    return this.#droppedAttributes;
  }

  get suspect(): boolean {
    return (this.#flags & reportFlag.suspect) !== 0;
  }

  /** The numbers by {@link metric}, NaN = unknown. Not to be written to. */
  get metrics(): Readonly<Float64Array> {
    return this.#metrics;
  }

  /** Age of the numbers, or of the target when there never were any, ms. */
  ageMs(nowMs: number): number {
    return Math.max(0, nowMs - this.#measuredAtMs);
  }

  /**
   * Takes in the reading of a scrape that began at `startedAtMs`: the numbers are at most that
   * old, and when exactly the engine rendered them is not known. Returns whether they differ.
   */
  succeed(reading: Reading, startedAtMs: number, durationMs: number): boolean {
    if (this.isRestart(reading.metrics)) {
      this.#epoch = Math.max(this.#epoch + 1, Math.floor(this.#clock.unixMs()));
      this.#seq = 0;
      this.#revision = 0;
      this.#engineVersion = '';
    }
    const changed = this.#takeNumbers(reading.metrics);
    this.#seq++;
    this.#measuredAtMs = startedAtMs;
    this.#reason = reason.ok;
    this.#detail = '';
    this.#metrics[metric.scrapeDurationMs] = durationMs;
    this.#takeFlags(reading, startedAtMs);
    const attributesChanged = this.#revision === 0 || hasOtherWords(this.#reading, reading);
    this.#reading = reading;
    if (attributesChanged) {
      this.#revision++;
      this.#attributesBytes = this.#encodeAttributes();
    }
    return changed;
  }

  /** Takes in a scrape that failed: the numbers stay and age. */
  fail(why: Reason, detail: string): void {
    this.#seq++;
    this.#reason = why;
    this.#detail = detail;
  }

  /** The engine's version as it told it itself; empty: not known. */
  get engineVersion(): string {
    return this.#engineVersion;
  }

  set engineVersion(version: string) {
    if (version === this.#engineVersion) return;
    this.#engineVersion = version;
    this.#revision++;
    this.#attributesBytes = this.#encodeAttributes();
  }

  /** The time until the next scrape, as planned now. */
  set scrapeIntervalMs(intervalMs: number) {
    this.#metrics[metric.scrapeIntervalMs] = intervalMs;
  }

  /** Neither running nor waiting requests, as far as known. */
  get isIdle(): boolean {
    return (
      this.#metrics[metric.runningRequests] === 0 && this.#metrics[metric.waitingRequests] === 0
    );
  }

  report(nowMs: number): Report {
    const { address, port, rank } = this.identity;
    return {
      podKey: this.podKey,
      address,
      port,
      rank,
      flags: this.#flags,
      reason: this.#reason,
      engineRanks: this.#reading?.engineRanks ?? 0,
      epoch: this.#epoch,
      seq: this.#seq,
      ageMs: this.ageMs(nowMs),
      metrics: this.#metrics,
    };
  }

  /** The report as a record's payload, its age as of `nowMs`. */
  reportBytes(nowMs: number): Uint8Array {
    const bytes = new Uint8Array(reportBytes);
    writeReport(this.report(nowMs), bytes);
    return bytes;
  }

  /** The attributes as a record's payload; the same array until they change. */
  attributesBytes(): Uint8Array {
    return this.#attributesBytes;
  }

  /** The ranks as a record's payload; `undefined` when the page speaks of one rank or none. */
  ranksBytes(): Uint8Array | undefined {
    const ranks = this.ranks;
    if (ranks.length < 2) return undefined;
    const { podKey } = this;
    const { port } = this.identity;
    return encodeRanks({ podKey, port, epoch: this.#epoch, seq: this.#seq, ranks });
  }

  get ranks(): readonly RankNumbers[] {
    return this.#reading?.ranks ?? [];
  }

  /** The record that says that no report will follow. */
  goneBytes(): Uint8Array {
    const { port } = this.identity;
    return encodeGone({ podKey: this.podKey, port, epoch: this.#epoch, seq: this.#seq + 1 });
  }

  get attributes(): Attributes {
    const { podName, namespace, nodeName, port, reporter, metricsPort } = this.identity;
    return {
      podKey: this.podKey,
      port,
      epoch: this.#epoch,
      revision: Math.max(1, this.#revision),
      podName,
      namespace,
      nodeName,
      engine: this.#reading?.engine ?? '',
      engineVersion: this.#engineVersion,
      metricsPort,
      reporter,
      models: this.#reading?.models ?? [],
      loraRunning: this.#reading?.loraRunning,
      loraWaiting: this.#reading?.loraWaiting,
    };
  }

  #encodeAttributes(): Uint8Array {
    const { bytes, dropped } = encodeAttributes(this.attributes);
    this.#droppedAttributes += dropped;
    return bytes;
  }

  /** Whether these numbers, taken for true, mean that the engine has restarted. */
  isRestart(next: Readonly<Float64Array>): boolean {
    for (const index of counters) {
      if ((next[index] as number) < (this.#metrics[index] as number)) return true;
    }
    return false;
  }

  #takeNumbers(next: Float64Array): boolean {
    let changed = false;
    for (let index = 0; index < metricsCount; index++) {
      if (ownMetrics.includes(index)) continue;
      if (!Object.is(next[index], this.#metrics[index])) changed = true;
      this.#metrics[index] = next[index] as number;
    }
    return changed;
  }

  #takeFlags(reading: Reading, nowMs: number): void {
    const { metrics, progress, sleeping } = reading;
    const claimsWork =
      (metrics[metric.runningRequests] as number) > 0 ||
      (metrics[metric.waitingRequests] as number) > 0;
    const tokens = [
      metrics[metric.promptTokensTotal] as number,
      metrics[metric.generationTokensTotal] as number,
    ];
    const suspect = this.#suspicion.observe({
      nowMs,
      claimsWork: claimsWork && !sleeping,
      progress: [...tokens, ...progress],
    });
    this.#flags &= ~(reportFlag.suspect | reportFlag.sleeping);
    if (suspect) this.#flags |= reportFlag.suspect;
    if (sleeping) this.#flags |= reportFlag.sleeping;
  }
}
