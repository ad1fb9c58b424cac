/** Says of one candidate whether it passes. */
export type Judgement<C> = (context: C, position: number) => boolean;

/** Moves the passing candidates to the front, in order, and returns how many they are. */
export function keepPassing<C>(
  passes: Judgement<C>,
  context: C,
  candidates: Int32Array,
  count: number,
): number {
  let kept = 0;
  for (let i = 0; i < count; i++) {
    const position = candidates[i]!;
    if (!passes(context, position)) continue;
    // Swapping keeps the others behind, so that a preference nobody meets can be undone.
    candidates[i] = candidates[kept]!;
    candidates[kept++] = position;
  }
  return kept;
}
