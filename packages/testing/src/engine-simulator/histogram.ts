/**
 * A Prometheus histogram as the engine simulator keeps it: cumulative from the start, so that
 * writing the page needs no sums. Observing costs O(buckets above the value).
 */
export class Histogram {
  /** Upper bounds, ascending, without +Inf. */
  readonly bounds: readonly number[];
  /** Observations at or below each bound. */
  readonly cumulative: Float64Array;
  sum = 0;
  count = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.cumulative = new Float64Array(bounds.length);
  }

  /** Counts `value` as seen `times` times. */
  observe(value: number, times = 1): void {
    for (let i = this.bounds.length - 1; i >= 0 && value <= this.bounds[i]!; i--) {
      this.cumulative[i]! += times;
    }
    this.sum += value * times;
    this.count += times;
  }
}
