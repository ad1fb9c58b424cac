/** Percentiles of what runs measured, seeds pooled. */

/** The values of `parts` that are numbers, in rising order. */
export function sorted(parts: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(parts.reduce((sum, part) => sum + part.length, 0));
  let count = 0;
  for (const part of parts) {
    for (const value of part) if (!Number.isNaN(value)) all[count++] = value;
  }
  return all.subarray(0, count).sort();
}

/** `ratio` in 0..1; NaN of nothing. */
export function percentile(values: Float64Array, ratio: number): number {
  if (values.length === 0) return Number.NaN;
  return values[Math.min(values.length - 1, Math.floor(values.length * ratio))]!;
}

export function mean(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
