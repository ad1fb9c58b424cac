/** Words that the prefix index keeps of each endpoint beside its blocks, all Int32. */
export const headerWords = 16;

export const header = {
  /** Sets of its table; 0 = not sized yet. */
  sets: 0,
  /** The current epoch. */
  clock: 1,
  /** The last epoch whose blocks are forgotten. */
  horizon: 2,
  /** Tokens used in the current epoch. */
  epochTokens: 3,
  /** Tokens in all epochs above the horizon. */
  heldTokens: 4,
  /** KV capacity as reported, or assumed. */
  capacityTokens: 5,
  /** 1,024 × the part of that capacity that is gone by; 0 = 1,024. */
  scale: 6,
  /** Where the sweep goes on. */
  sweptSet: 7,
  /** Prompt tokens that were expected in the cache, and all of them, since the last correction. */
  expectedHits: 8,
  expectedQueries: 9,
  /** The lowest 32 bits of the engine's own counters at that correction. */
  engineHits: 10,
  engineQueries: 11,
  /** The windows' smoothed ratios × 65,536 + 1; 0 = none yet. */
  expectedRatio: 12,
  engineRatio: 13,
  /** 1 once the engine's counters were seen. */
  isObserved: 14,
} as const;
