/**
 * The weights of the expected-work formula. Their unit is a prefill token: the time in which an
 * endpoint of normal speed computes one token of a prompt. Values come from the routing benchmark
 * (`npm run bench -- routing`; docs/routing.md), which is flat around them.
 */
export interface ExpectedWorkParameters {
  /** Weight of the request's own uncached tokens: above 1, a cached prefix counts for more. */
  readonly ownWeight: number;
  /**
   * What is added to `ownWeight` for each request that waits for its first token, in the mean of the
   * endpoints compared: tokens computed here delay all who wait behind.
   */
  readonly waitingWeight: number;
  /** What a request adds from its pick on: a place in the batch, and a step that is longer. */
  readonly decodingTokens: number;
  /**
   * What each uncached token adds per request at the endpoint, which stands still while it is
   * computed. It counts for the part of the time in which endpoints compute no prompts.
   */
  readonly stallWeight: number;
  /**
   * Weight of what decoding beside each other costs. 1 is the whole of it, and best for the mean time
   * to the end; the less, the better for the first tokens of the slowest requests.
   */
  readonly decodeWeight: number;
  /** What a sequence adds to every step, and what a token of context does. */
  readonly sequenceStepTokens: number;
  readonly kvStepTokens: number;
  /**
   * Price per token by which the KV cache would be filled beyond `kvSafeRatio`. Not steeper:
   * gauges are late, and a steep price makes requests herd from one full endpoint to the next.
   */
  readonly kvOverflowWeight: number;
  /** Share of the KV cache that may be planned with. */
  readonly kvSafeRatio: number;
  /** Weight of what other replicas probably sent since they last told. */
  readonly unheardWeight: number;
  /** Pools of at most so many endpoints are compared whole. */
  readonly compareAllMax: number;
  /** In larger ones, endpoints drawn at random and compared, besides those that hold the prefix. */
  readonly samples: number;
  /** Work of loading a LoRA adapter that the endpoint has not been seen with. */
  readonly adapterLoadTokens: number;
  /** The same where another adapter must leave first. */
  readonly adapterSwapTokens: number;
}

export const expectedWorkParameters: ExpectedWorkParameters = {
  ownWeight: 2,
  waitingWeight: 1,
  decodingTokens: 50,
  stallWeight: 0.2,
  decodeWeight: 0.2,
  // Of a mid-sized model: 20 µs a sequence and 40 ns a token of context, 50 µs to compute a token.
  sequenceStepTokens: 0.4,
  kvStepTokens: 0.0008,
  kvOverflowWeight: 1,
  kvSafeRatio: 0.85,
  unheardWeight: 0.5,
  compareAllMax: 64,
  samples: 16,
  // An adapter of some 100 MB takes around 0.2 s from disk or over the network.
  adapterLoadTokens: 4_000,
  adapterSwapTokens: 8_000,
};
