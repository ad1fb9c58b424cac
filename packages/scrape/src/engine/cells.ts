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

/** The rank of series that have no rank label. */
export const noRank = -1;

export class Cells {
  readonly ranks: number[] = [];
  readonly values: number[] = [];
  readonly #parts: number[] = [];
  /** Ranks in order of appearance, with what {@link fold} made of them. */
  readonly rankIds: number[] = [];
  readonly rankValues: number[] = [];
  /** Series that matched, sound or not. */
  series = 0;
  /** Of these, series whose number cannot be: NaN, negative, a sentinel. */
  invalid = 0;
  overflow = false;

  reset(): void {
    if (this.series === 0) return;
    this.ranks.length = 0;
    this.values.length = 0;
    this.#parts.length = 0;
    this.rankIds.length = 0;
    this.rankValues.length = 0;
    this.series = 0;
    this.invalid = 0;
    this.overflow = false;
  }

  /** Adds a series; `value` NaN says that its number is unusable. */
  add(rank: number, part: number, value: number): void {
    this.series++;
    const unusable = Number.isNaN(value);
    if (unusable) this.invalid++;
    for (let i = 0; i < this.ranks.length; i++) {
      if (this.ranks[i] !== rank || this.#parts[i] !== part) continue;
      const known = this.values[i] as number;
      if (Number.isNaN(known) || value > known) this.values[i] = value;
      return;
    }
    if (this.ranks.length === cellsMax) {
      this.overflow = true;
      return;
    }
    this.ranks.push(rank);
    this.#parts.push(part);
    this.values.push(value);
  }

  /** Whether some series has a usable number. */
  get usable(): boolean {
    for (const value of this.values) if (!Number.isNaN(value)) return true;
    return false;
  }

  /** Puts the parts of each rank together: added up, or the largest. NaN stays NaN. */
  fold(addParts: boolean): void {
    this.rankIds.length = 0;
    this.rankValues.length = 0;
    for (let i = 0; i < this.ranks.length; i++) {
      const rank = this.ranks[i] as number;
      const value = this.values[i] as number;
      const at = this.rankIds.indexOf(rank);
      if (at < 0) {
        this.rankIds.push(rank);
        this.rankValues.push(this.overflow ? Number.NaN : value);
        continue;
      }
      const known = this.rankValues[at] as number;
      this.rankValues[at] = addParts ? known + value : Math.max(known, value);
    }
  }

  /** The folded number of `rank`, or of the series without a rank; NaN when there is neither. */
  ofRank(rank: number): number {
    let at = this.rankIds.indexOf(rank);
    if (at < 0) at = this.rankIds.indexOf(noRank);
    return at < 0 ? Number.NaN : (this.rankValues[at] as number);
  }
}
