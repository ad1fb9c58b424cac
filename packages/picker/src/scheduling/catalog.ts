/**
 * Every part and strategy that a configuration may name, with the parameters it takes. Adding one
 * is a file with its formula and a line here.
 */
import { z } from 'zod';
import { ExpectedWork } from './expected-work/expected-work.ts';
import { expectedWorkParameters } from './expected-work/parameters.ts';
import { freshFilter } from './filter/fresh.ts';
import { labelFilter } from './filter/label.ts';
import { loraCapacityFilter } from './filter/lora-capacity.ts';
import { notSaturatedFilter } from './filter/not-saturated.ts';
import { subsetFilter } from './filter/subset.ts';
import type { Choice, Filter, Scorer, Strategy } from './part.ts';
import { maxScorePick } from './pick/max-score.ts';
import { powerOfTwoPick } from './pick/power-of-two.ts';
import { randomPick } from './pick/random.ts';
import { sampledMinimumPick, samplesDefault } from './pick/sampled-minimum.ts';
import { weightedRandomPick } from './pick/weighted-random.ts';
import { saturationLimitsDefault } from './saturation.ts';
import { inFlightScorer } from './scorer/in-flight.ts';
import { kvScorer } from './scorer/kv.ts';
import { latencyScorer } from './scorer/latency.ts';
import { loraScorer } from './scorer/lora.ts';
import { prefixScorer } from './scorer/prefix.ts';
import { queueScorer } from './scorer/queue.ts';
import { runningScorer } from './scorer/running.ts';
import { sessionHeaderDefault, sessionScorer } from './scorer/session.ts';
import { tokenLoadLimitDefault, tokenLoadScorer } from './scorer/token-load.ts';
import { leastKvCacheStrategy } from './strategy/least-kv-cache.ts';
import { leastLoadStrategy } from './strategy/least-load.ts';
import { leastRequestStrategy } from './strategy/least-request.ts';
import { loraAffinityStrategy } from './strategy/lora-affinity.ts';
import { powerOfTwoStrategy } from './strategy/power-of-two.ts';
import { prefixCacheStrategy } from './strategy/prefix-cache.ts';
import { randomStrategy } from './strategy/random.ts';
import { roundRobinStrategy } from './strategy/round-robin.ts';
import { sessionAffinityStrategy } from './strategy/session-affinity.ts';

/** How a named thing is made from the parameters of a configuration. */
export interface Kind<T> {
  /** Checks parameters; throws, with a message for people. */
  check(parameters: unknown): void;
  /** Makes a fresh instance, with scratch memory of its own. */
  create(parameters: unknown): T;
}

function kind<S extends z.ZodType, T>(shape: S, create: (parameters: z.output<S>) => T): Kind<T> {
  return {
    check: (parameters) => void shape.parse(parameters),
    create: (parameters) => create(shape.parse(parameters)),
  };
}

const none = z.strictObject({});
const header = z.string().toLowerCase().min(1).max(256);
const tokens = z.number().min(1).max(1e12);

const session = z.strictObject({ header: header.default(sessionHeaderDefault) });

const limits = z.strictObject({
  queueRequests: z.number().min(0).default(saturationLimitsDefault.queueRequests),
  kvCacheUsageRatio: z.number().min(0).max(1).default(saturationLimitsDefault.kvCacheUsageRatio),
});

const label = z.strictObject({
  label: z.string().min(1).max(317),
  values: z.array(z.string()).max(256).default([]),
  allowUnlabeled: z.boolean().default(false),
});

const weight = z.number().min(0).max(1e9);
/** The weights of the formula by name; `samples` counts endpoints and must be whole. */
const expectedWork = z.strictObject(
  Object.fromEntries(
    Object.entries(expectedWorkParameters).map(([name, value]) => [
      name,
      (name === 'samples' ? z.number().int().min(1).max(1_024) : weight).default(value),
    ]),
  ),
);

export const filters: Readonly<Record<string, Kind<Filter>>> = {
  fresh: kind(none, freshFilter),
  subset: kind(none, subsetFilter),
  'not-saturated': kind(limits, notSaturatedFilter),
  'lora-capacity': kind(none, loraCapacityFilter),
  label: kind(label, labelFilter),
};

/** Filters that are undone when nothing passes, unless the configuration says `refuse`. */
export const preferences: ReadonlySet<string> = new Set(['not-saturated', 'lora-capacity']);

export const scorers: Readonly<Record<string, Kind<Scorer>>> = {
  queue: kind(none, queueScorer),
  running: kind(none, runningScorer),
  kv: kind(none, kvScorer),
  'in-flight': kind(none, inFlightScorer),
  'token-load': kind(
    z.strictObject({ limitTokens: tokens.default(tokenLoadLimitDefault) }),
    ({ limitTokens }) => tokenLoadScorer(limitTokens),
  ),
  prefix: kind(none, prefixScorer),
  lora: kind(none, loraScorer),
  session: kind(session, (parameters) => sessionScorer(parameters.header)),
  latency: kind(none, latencyScorer),
};

export const picks: Readonly<Record<string, Kind<Choice>>> = {
  'max-score': kind(none, maxScorePick),
  'weighted-random': kind(none, weightedRandomPick),
  random: kind(none, randomPick),
  'power-of-two': kind(none, powerOfTwoPick),
  'sampled-minimum': kind(
    z.strictObject({ samples: z.number().int().min(1).max(1_024).default(samplesDefault) }),
    ({ samples }) => sampledMinimumPick(samples),
  ),
};

export const strategies: Readonly<Record<string, Kind<Strategy>>> = {
  random: kind(none, randomStrategy),
  'round-robin': kind(none, roundRobinStrategy),
  'power-of-two': kind(none, powerOfTwoStrategy),
  'least-request': kind(none, leastRequestStrategy),
  'least-load': kind(none, leastLoadStrategy),
  'least-kv-cache': kind(none, leastKvCacheStrategy),
  'prefix-cache': kind(none, prefixCacheStrategy),
  'lora-affinity': kind(none, loraAffinityStrategy),
  'session-affinity': kind(session, (parameters) => sessionAffinityStrategy(parameters.header)),
  'expected-work': kind(
    expectedWork,
    (parameters) => new ExpectedWork({ ...expectedWorkParameters, ...parameters }),
  ),
};

/** Strategies and scorers that read the prefix index, so that picks must be entered into it. */
export const usesPrefixes: ReadonlySet<string> = new Set([
  'expected-work',
  'prefix-cache',
  'prefix',
]);
