/**
 * A request inside the engine model. Decoding sequences are not touched step by step: where they
 * are follows from the step at which they began to decode, so that a step costs O(1).
 */
export interface EngineRequest {
  /** Chosen by the caller, unique among the requests alive in this engine. */
  readonly id: number;
  readonly promptTokens: number;
  /** Tokens after which the request finishes, at least 1. */
  readonly outputTokens: number;
  /**
   * Hashes of the prompt's whole blocks from its start, each of which stands for all before it
   * too. Empty when nothing may be shared. Those of the answer's blocks may follow: such a block
   * is cached from when the request ends or is preempted.
   */
  readonly blockHashes: ArrayLike<number>;
}

export interface Sequence {
  readonly request: EngineRequest;
  readonly submittedMs: number;
  /** Slots of the hashed blocks it holds, in prompt order. */
  readonly shared: number[];
  /** Tokens to compute before the next token can be sampled: prompt, and output if preempted. */
  prefillTarget: number;
  /** Context tokens with KV, as of `decodeStep` when decoding. */
  computed: number;
  /** Output tokens so far, as of `decodeStep` when decoding. */
  generated: number;
  /** The step that computed the end of the prompt; -1 while prefilling or waiting. */
  decodeStep: number;
  /** The step in which the last token comes; Infinity unless decoding. */
  finishStep: number;
  lastTokenMs: number;
  running: boolean;
  cancelled: boolean;
  countedPrefix: boolean;
}

export function newSequence(request: EngineRequest, submittedMs: number): Sequence {
  return {
    request,
    submittedMs,
    shared: [],
    prefillTarget: request.promptTokens,
    computed: 0,
    generated: 0,
    decodeStep: -1,
    finishStep: Number.POSITIVE_INFINITY,
    lastTokenMs: Number.NaN,
    running: false,
    cancelled: false,
    countedPrefix: false,
  };
}

/** Context tokens with KV at `step`. */
export function contextTokens(sequence: Sequence, step: number): number {
  return sequence.decodeStep < 0
    ? sequence.computed
    : sequence.computed + step - sequence.decodeStep;
}

/** Output tokens at `step`. */
export function generatedTokens(sequence: Sequence, step: number): number {
  return sequence.decodeStep < 0
    ? sequence.generated
    : sequence.generated + step - sequence.decodeStep;
}
