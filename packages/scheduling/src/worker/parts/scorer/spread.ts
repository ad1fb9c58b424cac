/**
 * Turns loads into scores: the least of the candidates gets 1, the most 0, linearly between; 1 for
 * all when they are alike. Unknown loads (NaN) stay unknown, so the scorer abstains there.
 */
export function scoreByLoad(scores: Float64Array, count: number): void {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < count; i++) {
    const load = scores[i]!;
    if (load < least) least = load;
    if (load > most) most = load;
  }
  const range = most - least;
  for (let i = 0; i < count; i++) {
    const load = scores[i]!;
    if (Number.isNaN(load)) continue;
    scores[i] = range > 0 ? (most - load) / range : 1;
  }
}
