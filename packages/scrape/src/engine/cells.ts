/**
 * The numbers one selector found on a page, by data-parallel rank.
 *
 * Series are told apart by their labels without the rank and replica labels (their *part*).
 * Within a rank and part the largest counts, as replicas see the same requests; which of several
 * parts of a rank are added up or maximised is a matter of the number's unit.
 */

/**
 * Rank and part pairs of one selector. 64 ranks with 16 parts each fit; what goes beyond is
 * dropped, and the number becomes unknown rather than too low.
 */
const cellsMax = 1_024;

/** Tells the parts of label sets; see LabelSets. */
export interface Parts {
  partOf(set: number): number;
}

export class Cells {
  readonly #ranks: number[] = [];
  readonly #sets: number[] = [];
  readonly #values: number[] = [];
  /** Ranks in order of appearance, with what {@link fold} made of them. */
  readonly rankIds: number[] = [];
  readonly rankValues: number[] = [];
  /** Series that matched, sound or not. */
  series = 0;
  /** Of these, series whose number cannot be: NaN, negative, a sentinel. */
  invalid = 0;
  overflow = false;
  /** Lines of the family are missing from the page: what is left is not all. */
  lost = false;

  reset(): void {
    this.lost = false;
    if (this.series === 0) return;
    this.#ranks.length = 0;
    this.#sets.length = 0;
    this.#values.length = 0;
    this.series = 0;
    this.invalid = 0;
    this.overflow = false;
  }

  /** Adds the series with the label set `set`; `value` NaN says that its number is unusable. */
  add(rank: number, set: number, value: number, parts: Parts): void {
    this.series++;
    if (Number.isNaN(value)) this.invalid++;
    for (let i = 0; i < this.#ranks.length; i++) {
      if (this.#ranks[i] !== rank) continue;
      if (parts.partOf(this.#sets[i] as number) !== parts.partOf(set)) continue;
      const known = this.#values[i] as number;
      if (Number.isNaN(known) || value > known) this.#values[i] = value;
      return;
    }
    if (this.#ranks.length === cellsMax) {
      this.overflow = true;
      return;
    }
    this.#ranks.push(rank);
    this.#sets.push(set);
    this.#values.push(value);
  }

  /** Whether some series has a usable number. */
  get usable(): boolean {
    return this.series > this.invalid;
  }

  /** The sum over all series' numbers; NaN when there is none, one is unusable or missing. */
  get sum(): number {
    let sum = this.series === 0 || this.lost ? Number.NaN : 0;
    for (const value of this.#values) sum += value;
    return sum;
  }

  /** Puts the parts of each rank together: added up, or the largest. NaN stays NaN. */
  fold(addParts: boolean): void {
    this.rankIds.length = 0;
    this.rankValues.length = 0;
    const incomplete = this.overflow || this.lost;
    if (this.#ranks.length === 1) {
      this.rankIds.push(this.#ranks[0] as number);
      this.rankValues.push(incomplete ? Number.NaN : (this.#values[0] as number));
      return;
    }
    for (let i = 0; i < this.#ranks.length; i++) {
      const rank = this.#ranks[i] as number;
      const value = incomplete ? Number.NaN : (this.#values[i] as number);
      const at = this.rankIds.indexOf(rank);
      if (at < 0) {
        this.rankIds.push(rank);
        this.rankValues.push(value);
        continue;
      }
      const known = this.rankValues[at] as number;
      this.rankValues[at] = addParts ? known + value : Math.max(known, value);
    }
  }

  /** The folded number of `rank`, or of the series without a rank; NaN when there is neither. */
  ofRank(rank: number, withoutRank: number): number {
    let at = this.rankIds.indexOf(rank);
    if (at < 0) at = this.rankIds.indexOf(withoutRank);
    return at < 0 ? Number.NaN : (this.rankValues[at] as number);
  }
}
