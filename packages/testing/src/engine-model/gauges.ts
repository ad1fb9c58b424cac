/**
 * What a modelled engine says about itself. As in the real thing, the numbers change at the end
 * of a step and at no other time: a request that came since is not in them.
 */
export interface EngineGauges {
  publishedMs: number;
  running: number;
  waiting: number;
  kvUsageRatio: number;
  promptTokensTotal: number;
  generationTokensTotal: number;
  finishedTotal: number;
  preemptionsTotal: number;
  prefixHitTokensTotal: number;
  prefixQueryTokensTotal: number;
  ttftSumMs: number;
  ttftCount: number;
  interTokenSumMs: number;
  interTokenCount: number;
}

export function newEngineGauges(): EngineGauges {
  return {
    publishedMs: 0,
    running: 0,
    waiting: 0,
    kvUsageRatio: 0,
    promptTokensTotal: 0,
    generationTokensTotal: 0,
    finishedTotal: 0,
    preemptionsTotal: 0,
    prefixHitTokensTotal: 0,
    prefixQueryTokensTotal: 0,
    ttftSumMs: 0,
    ttftCount: 0,
    interTokenSumMs: 0,
    interTokenCount: 0,
  };
}
