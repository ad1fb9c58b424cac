/**
 * Engines of the model work in blocks of about 64 tokens, as pickers do; traces come with other
 * ones. Larger blocks of a trace are cut into equal parts, smaller ones are put together: a block
 * made of several has the id of its last, which stands for all text before it.
 */
export interface BlockGrain {
  /** Tokens per block of the engine. */
  readonly tokens: number;
  /** Engine blocks per block of the trace; 1 where `group` is above 1. */
  readonly split: number;
  /** Blocks of the trace per engine block. */
  readonly group: number;
}

const wantedTokens = 64;

export function blockGrain(traceBlockTokens: number): BlockGrain {
  if (traceBlockTokens < wantedTokens) {
    const group = Math.ceil(wantedTokens / traceBlockTokens);
    return { tokens: traceBlockTokens * group, split: 1, group };
  }
  let split = Math.floor(traceBlockTokens / wantedTokens);
  while (traceBlockTokens % split !== 0) split--;
  return { tokens: traceBlockTokens / split, split, group: 1 };
}
