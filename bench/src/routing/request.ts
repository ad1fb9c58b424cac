/** One request of a scenario: what arrives when. The same for every policy under a seed. */
export interface RoutingRequest {
  readonly id: number;
  readonly atMs: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** One id per block of prompt, each standing for all before it. */
  readonly blocks: ArrayLike<number>;
  /** Which picker replica the gateway asks. */
  readonly replica: number;
  /** Of the few long ones of a long-tailed mix. */
  readonly isLong: boolean;
}

/**
 * Tokens per block, of engines and pickers alike. Engines have smaller ones, mostly 16; that makes
 * simulating them four times as slow and changes a match by 24 tokens on average.
 */
export const blockTokens = 64;
