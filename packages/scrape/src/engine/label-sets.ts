/**
 * What the label sets of a page say: the rank of a series, the models, and by what else series
 * differ (their *part*). Worked out once per set, however many samples share it, and the part only
 * when two series of one rank meet, which on most pages happens for one family.
 */
import { LabelCursor } from '../exposition/label-cursor.ts';
import type { Samples } from '../exposition/samples.ts';
import type { EngineProfile } from './profile.ts';

/** The rank of series that have no rank label. */
export const noRank = -1;
/** The rank of series that are parts of a total which is on the page too. */
export const partOfTotal = -2;

/** Model names of one page; one server serves a handful. */
const modelsMax = 64;
const unknownPart = -1;
/**
 * Labels of shards that see the same requests (tensor, pipeline, expert parallel, and those to
 * come). A rank with queues of its own is named by the profile: taking a new one for that would
 * multiply every count.
 */
const rankSuffix = '_rank';
const setsAtFirst = 64;

export class LabelSets {
  readonly cursor = new LabelCursor();
  #profile: EngineProfile | undefined;
  #samples: Samples | undefined;
  #ranks = new Int32Array(setsAtFirst);
  /** Unsigned 32-bit hashes, or {@link unknownPart}. */
  #parts = new Float64Array(setsAtFirst);
  /** Sets with a `…_rank` label that the profile does not name. */
  unknownRankLabels = 0;

  /** Reads the sets of a page; notes the models in `models`. */
  read(profile: EngineProfile, samples: Samples, models: string[]): void {
    this.#profile = profile;
    this.#samples = samples;
    this.unknownRankLabels = 0;
    if (samples.setCount > this.#ranks.length) {
      this.#ranks = new Int32Array(samples.setFrom.length);
      this.#parts = new Float64Array(samples.setFrom.length);
    }
    for (let set = 0; set < samples.setCount; set++) {
      this.#parts[set] = unknownPart;
      this.#ranks[set] = this.#readSet(profile, samples, set, models);
    }
  }

  rankOf(set: number): number {
    return set < 0 ? noRank : (this.#ranks[set] as number);
  }

  /** Equal for sets that differ in rank and replica labels only, and else almost surely not. */
  partOf(set: number): number {
    if (set < 0) return 0;
    if (this.#parts[set] === unknownPart) this.#parts[set] = this.#hash(set);
    return this.#parts[set] as number;
  }

  /** Whether `set` has the label `key`; then the cursor is on it. */
  seek(set: number, key: string): boolean {
    return this.cursor.seek(this.#samples as Samples, set, key);
  }

  #readSet(profile: EngineProfile, samples: Samples, set: number, models: string[]): number {
    const { cursor } = this;
    let rank = noRank;
    let isUnknown = false;
    cursor.start(samples, set);
    while (cursor.next()) {
      if (profile.rankLabel !== undefined && cursor.keyIs(profile.rankLabel)) {
        const stated = cursor.integer();
        if (stated >= 0 && rank !== partOfTotal) rank = stated;
      } else if (profile.partLabel !== undefined && cursor.keyIs(profile.partLabel)) {
        if (!cursor.isEmpty) rank = partOfTotal;
      } else if (cursor.keyEndsWith(rankSuffix)) {
        if (profile.replicaLabels?.some((label) => cursor.keyIs(label)) !== true) isUnknown = true;
      } else if (this.#isModelLabel(profile) && models.length < modelsMax) {
        const name = cursor.value();
        if (name !== '' && !models.includes(name)) models.push(name);
      }
    }
    if (isUnknown) this.unknownRankLabels++;
    return rank;
  }

  #hash(set: number): number {
    const { cursor } = this;
    const profile = this.#profile as EngineProfile;
    let part = 0;
    cursor.start(this.#samples as Samples, set);
    while (cursor.next()) {
      if (this.#isRankLabel(profile) || this.#isReplicaLabel(profile)) continue;
      // A sum does not depend on the labels' order, which may differ between series.
      part = (part + cursor.hash()) >>> 0;
    }
    return part;
  }

  /** A rank label whose value is no number tells series apart like any other label. */
  #isRankLabel({ rankLabel }: EngineProfile): boolean {
    return rankLabel !== undefined && this.cursor.keyIs(rankLabel) && this.cursor.integer() >= 0;
  }

  #isReplicaLabel(profile: EngineProfile): boolean {
    if (profile.rankLabel !== undefined && this.cursor.keyIs(profile.rankLabel)) return false;
    for (const label of profile.replicaLabels ?? []) if (this.cursor.keyIs(label)) return true;
    return this.cursor.keyEndsWith(rankSuffix);
  }

  #isModelLabel(profile: EngineProfile): boolean {
    for (const label of profile.modelLabels) if (this.cursor.keyIs(label)) return true;
    return false;
  }
}
