/** One request of a scenario: what arrives when. The same for every policy under a seed. */
export interface RoutingRequest {
  readonly id: number;
  readonly atMs: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** One id per 16 tokens of prompt, each standing for all before it; what the engine sees. */
  readonly engineBlocks: ArrayLike<number>;
  /** Which picker replica the gateway asks. */
  readonly replica: number;
  /** Of the few long ones of a long-tailed mix. */
  readonly isLong: boolean;
}

export const engineBlockTokens = 16;
