/**
 * Every part and strategy that a configuration may name, with the parameters it takes. Adding one
 * is a file with its formula and a line here.
 */
import * as z from 'zod';
import { saturationLimitsDefault } from '../candidates/saturation.ts';
import { ExpectedWork } from '../parts/expected-work/expected-work.ts';
import { expectedWorkParameters } from '../parts/expected-work/parameters.ts';
import { freshFilter } from '../parts/filter/fresh.ts';
import { labelFilter } from '../parts/filter/label.ts';
import { loraCapacityFilter } from '../parts/filter/lora-capacity.ts';
import { notSaturatedFilter } from '../parts/filter/not-saturated.ts';
import { subsetFilter } from '../parts/filter/subset.ts';
import type { Choice, Filter, Scorer, Strategy } from '../parts/part.ts';
import { maxScorePick } from '../parts/pick/max-score.ts';
import { powerOfTwoPick, powerOfTwoStrategy } from '../parts/pick/power-of-two.ts';
import { randomPick } from '../parts/pick/random.ts';
import { sampledMinimumPick, samplesDefault } from '../parts/pick/sampled-minimum.ts';
import { weightedRandomPick } from '../parts/pick/weighted-random.ts';
import { inFlightScorer } from '../parts/scorer/in-flight.ts';
import { kvScorer } from '../parts/scorer/kv.ts';
import { latencyScorer } from '../parts/scorer/latency.ts';
import { loraScorer } from '../parts/scorer/lora.ts';
import { prefixScorer } from '../parts/scorer/prefix.ts';
import { queueScorer } from '../parts/scorer/queue.ts';
import { runningScorer } from '../parts/scorer/running.ts';
import { sessionHeaderDefault, sessionScorer } from '../parts/scorer/session.ts';
import { tokenLoadLimitDefault, tokenLoadScorer } from '../parts/scorer/token-load.ts';
import { leastKvCacheStrategy } from '../parts/strategy/least-kv-cache.ts';
import { leastLoadStrategy } from '../parts/strategy/least-load.ts';
import { leastRequestStrategy } from '../parts/strategy/least-request.ts';
import { loraAffinityStrategy } from '../parts/strategy/lora-affinity.ts';
import { prefixCacheStrategy } from '../parts/strategy/prefix-cache.ts';
import { roundRobinStrategy } from '../parts/strategy/round-robin.ts';
import { sessionAffinityStrategy } from '../parts/strategy/session-affinity.ts';

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
  random: kind(none, randomPick),
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
