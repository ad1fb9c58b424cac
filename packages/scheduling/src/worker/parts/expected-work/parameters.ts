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
  /** The same for each request past its first token, which stands still meanwhile. */
  readonly runningWeight: number;
  /** What a request past its first token adds: it slows every step that is still to come. */
  readonly decodingTokens: number;
  /**
   * What each uncached token of this request beyond `stallFromMeans` times the mean adds per
   * request past its first token: while a long prompt is computed, they all stand still.
   */
  readonly stallWeight: number;
  readonly stallFromMeans: number;
  /**
   * What each token in the KV cache adds: attention reads all of them in every step. 0 by default.
   * Small values (0.05, with the same `stallWeight` and `stallFromMeans` 0) sort requests of
   * different sizes to different endpoints: shorter mean end-to-end times, for a little more p99
   * time to first token.
   */
  readonly kvTokenWeight: number;
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
  runningWeight: 0.2,
  decodingTokens: 100,
  stallWeight: 0.2,
  stallFromMeans: 8,
  kvTokenWeight: 0,
  kvOverflowWeight: 1,
  kvSafeRatio: 0.85,
  unheardWeight: 0.5,
  compareAllMax: 64,
  samples: 16,
  // An adapter of some 100 MB takes around 0.2 s from disk or over the network.
  adapterLoadTokens: 4_000,
  adapterSwapTokens: 8_000,
};
