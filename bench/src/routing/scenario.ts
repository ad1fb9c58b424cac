/**
 * The scenarios: which requests come, how fast, to which pods. Utilisation is stated against what
 * the pods can do with full batches, shared texts being cached half of the time: the load that a
 * policy sees which spreads without regard to prefixes.
 */
import { defaultEngineParameters, type EngineParameters } from '@leadsman/testing';

/** A kind of traffic, in tokens. */
export interface Traffic {
  /** Log-normal prompts: median and sigma of the logarithm. */
  readonly promptMedian: number;
  readonly promptSigma: number;
  readonly outputMedian: number;
  readonly outputSigma: number;
  /** Share of requests with a prompt drawn uniformly from `longMin` … `longMax` instead. */
  readonly longShare?: number;
  /**
   * Prompts begin with one of so many shared texts of `sharedMin` … `sharedMax` tokens. All of
   * them together fill half of the KV cache of eight pods, four times what one pod has.
   */
  readonly sharedTexts?: number;
  /** All shared texts are so long, and each is as popular as the others. */
  readonly sharedTokens?: number;
}

export interface Scenario {
  readonly name: string;
  /** What it is about; targets go by this. */
  readonly kind:
    | 'chat'
    | 'bursts'
    | 'long'
    | 'shared'
    | 'hardware'
    | 'shared-hardware'
    | 'late'
    | 'other';
  readonly pods: number;
  readonly replicas: number;
  readonly utilisation: number;
  readonly traffic: Traffic;
  readonly warmUpMs: number;
  readonly measuredMs: number;
  /** Requests per second at the start and at the end, in place of `utilisation`. */
  readonly ramp?: readonly [number, number];
  /** Requests come this many times as fast during half a second now and then. */
  readonly burst?: number;
  /** Speed of each pod; 1 for all if absent. */
  readonly speeds?: (pod: number) => number;
  /** From sampling a gauge to its being usable, 50 ms if absent; samples are 50 ms apart. */
  readonly gaugeDelayMs?: number;
}

export const longMin = 16_000;
export const longMax = 32_000;
export const sharedMin = 1_000;
export const sharedMax = 7_000;
/** Shared texts that a pod must compute anew if requests are spread without regard to them. */
const blindMissRatio = 0.5;

const chat: Traffic = { promptMedian: 500, promptSigma: 1, outputMedian: 150, outputSigma: 0.7 };
const longTail: Traffic = { ...chat, longShare: 0.03 };
const shared: Traffic = {
  promptMedian: 200,
  promptSigma: 0.6,
  outputMedian: 150,
  outputSigma: 0.7,
  sharedTexts: 400,
};
/** As in published benchmarks of pickers: texts, questions and answers of one length each. */
const published: Traffic = {
  promptMedian: 1_200,
  promptSigma: 0,
  outputMedian: 1_000,
  outputSigma: 0,
  sharedTexts: 150,
  sharedTokens: 6_000,
};
/** Little prefill, long answers: the KV cache is what runs out. */
const contexts: Traffic = {
  promptMedian: 2_000,
  promptSigma: 0.8,
  outputMedian: 700,
  outputSigma: 0.6,
};
const base = {
  pods: 8,
  replicas: 3,
  utilisation: 0.75,
  traffic: chat,
  warmUpMs: 15_000,
  measuredMs: 60_000,
} as const;
// Caches must fill before anything is measured.
const sharedBase = { ...base, traffic: shared, warmUpMs: 90_000, measuredMs: 90_000 } as const;

export const scenarios: readonly Scenario[] = [
  { ...base, name: 'chat 70 %', kind: 'chat', replicas: 1, utilisation: 0.7 },
  { ...base, name: 'chat 90 %', kind: 'chat', utilisation: 0.9 },
  { ...base, name: 'bursts ×5', kind: 'bursts', utilisation: 0.5, burst: 5 },
  { ...base, name: 'long prompts 3 %', kind: 'long', traffic: longTail },
  { ...sharedBase, name: 'shared prefixes, 1 replica', kind: 'shared', replicas: 1 },
  { ...sharedBase, name: 'shared prefixes 75 %', kind: 'shared' },
  { ...sharedBase, name: 'shared prefixes 90 %', kind: 'shared', utilisation: 0.9 },
  {
    ...base,
    name: 'one half-speed pod',
    kind: 'hardware',
    speeds: (pod) => (pod === 0 ? 0.5 : 1),
  },
  {
    ...base,
    name: 'half the pods 2× faster',
    kind: 'hardware',
    speeds: (pod) => (pod % 2 === 0 ? 2 : 1),
  },
  {
    ...sharedBase,
    name: 'half 2× faster, shared prefixes',
    kind: 'shared-hardware',
    speeds: (pod) => (pod % 2 === 0 ? 2 : 1),
  },
  { ...sharedBase, name: 'gauges 1 s late, shared prefixes', kind: 'late', gaugeDelayMs: 1000 },
  {
    ...base,
    name: 'KV cache scarce',
    kind: 'other',
    utilisation: 1.1,
    traffic: contexts,
    warmUpMs: 45_000,
  },
  {
    ...base,
    name: 'published shape, 3 to 60/s',
    kind: 'other',
    replicas: 1,
    traffic: published,
    ramp: [3, 60],
    warmUpMs: 0,
    measuredMs: 120_000,
  },
  { ...base, name: 'fresh gauges, chat', kind: 'other', gaugeDelayMs: 0 },
  {
    ...base,
    name: '50 pods, bursts ×5',
    kind: 'bursts',
    pods: 50,
    utilisation: 0.5,
    burst: 5,
    measuredMs: 30_000,
  },
  {
    ...sharedBase,
    name: '50 pods, shared prefixes',
    kind: 'shared',
    pods: 50,
    // The working set grows with the fleet.
    traffic: { ...shared, sharedTexts: 2_500 },
    warmUpMs: 60_000,
    measuredMs: 30_000,
  },
];

/** Time that one request takes of a pod of speed 1 with a full batch, ms. */
export function podMsPerRequest(
  traffic: Traffic,
  engine: EngineParameters = defaultEngineParameters,
): number {
  const longShare = traffic.longShare ?? 0;
  const drawn = logNormalMean(traffic.promptMedian, traffic.promptSigma);
  const sharedTokens = traffic.sharedTexts === undefined ? 0 : (sharedMin + sharedMax) / 2;
  const prompt = (1 - longShare) * drawn + (longShare * (longMin + longMax)) / 2;
  const output = logNormalMean(traffic.outputMedian, traffic.outputSigma);
  const held = prompt + sharedTokens + output / 2;
  const batch = Math.min(engine.runningMax, (0.9 * engine.kvCapacityTokens) / held);
  const msPerOutputToken =
    engine.stepBaseMs / batch +
    engine.stepPerSequenceMs +
    (engine.stepPerKvKilotokenMs * held) / 1000;
  const computed = prompt + sharedTokens * blindMissRatio;
  return (computed * 1000) / engine.prefillTokensPerSecond + output * msPerOutputToken;
}

function logNormalMean(median: number, sigma: number): number {
  return median * Math.exp((sigma * sigma) / 2);
}
