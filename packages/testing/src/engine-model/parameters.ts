/**
 * What an engine of the model is like: its step time, its limits and its KV cache. The defaults
 * are those of a mid-sized model on one accelerator: about 60 decode steps a second when busy,
 * 20,000 prompt tokens a second, 400,000 tokens of KV.
 */
export interface EngineParameters {
  /** Time of a step with nothing in it. */
  readonly stepBaseMs: number;
  /** Added to a step for each sequence in it. */
  readonly stepPerSequenceMs: number;
  /** Added to a step for each 1,000 tokens of context its sequences hold. */
  readonly stepPerKvKilotokenMs: number;
  /** Prompt tokens computed per second; Infinity makes prefill free. */
  readonly prefillTokensPerSecond: number;
  /** Tokens (prompt chunks and one per decoding sequence) that one step may compute. */
  readonly stepTokensMax: number;
  /** Sequences that run at once. */
  readonly runningMax: number;
  readonly kvCapacityTokens: number;
  /** Tokens per KV block; also the grain of the prefix cache. */
  readonly blockTokens: number;
  /** Divides the time of every step: 0.5 is half as fast. */
  readonly speed: number;
}

export const defaultEngineParameters: EngineParameters = {
  stepBaseMs: 8,
  stepPerSequenceMs: 0.02,
  stepPerKvKilotokenMs: 0.04,
  prefillTokensPerSecond: 20_000,
  stepTokensMax: 8192,
  runningMax: 256,
  kvCapacityTokens: 400_000,
  blockTokens: 16,
  speed: 1,
};

/** Fills in the defaults. Throws RangeError when a bound is not positive. */
export function engineParameters(given: Partial<EngineParameters> = {}): EngineParameters {
  const all = { ...defaultEngineParameters, ...given };
  const positive = [
    'prefillTokensPerSecond',
    'stepTokensMax',
    'runningMax',
    'kvCapacityTokens',
    'blockTokens',
    'speed',
  ] as const;
  for (const name of positive) {
    if (!(all[name] > 0)) throw new RangeError(`engine parameter ${name} must be above 0`);
  }
  for (const name of ['stepBaseMs', 'stepPerSequenceMs', 'stepPerKvKilotokenMs'] as const) {
    if (!(all[name] >= 0)) throw new RangeError(`engine parameter ${name} must not be negative`);
  }
  return all;
}
