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
  /** The prompt's blocks and then the answer's, as an engine caches both. */
  readonly engineBlocks: ArrayLike<number>;
  /** Whose conversation it is; -1: unknown. */
  readonly session: number;
  /** In a closed loop: it is sent this long after the end of that request, not at `atMs`. */
  readonly after?: { readonly id: number; readonly thinkMs: number };
  /** Of the few long ones of a long-tailed mix. */
  readonly isLong: boolean;
}

/**
 * Tokens per block, of engines and pickers alike. Engines have smaller ones, mostly 16; that makes
 * simulating them four times as slow and changes a match by 24 tokens on average.
 */
export const blockTokens = 64;
