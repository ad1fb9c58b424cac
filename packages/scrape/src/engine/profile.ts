/**
 * What an engine profile is: a table that says which series give which number of a report. A
 * profile holds no code, so that a new engine, or a custom mapping from a file, is only data.
 *
 * The rules by which the series of one number are put together depend on its unit alone; they are
 * in `combine.ts`. Order matters in one place: the first source of a signal that has a usable
 * series on the page wins, and sources are never added up (what adds up is one source of two
 * selectors). Newer names therefore stand first.
 */
import type { MetricName } from '@leadsman/wire';

/** Which series, and which number of each. */
export interface Selector {
  /** The sample name: a histogram's `_sum` and `_count` are names of their own. */
  family: string;
  /** Only series that have these labels with these values. */
  where?: Readonly<Record<string, string>>;
  /** Take the number from this label, for `…_info` series whose value says nothing. */
  label?: string;
  /** Multiplies the number, for engines that state percent. */
  scale?: number;
}

/** One way to learn a number: a selector, or two put together rank by rank. */
export type Source =
  | Selector
  | { divide: readonly [Selector, Selector] }
  /** `eachStatesTotal`: every rank states the sum over all ranks, where they all say the same. */
  | { multiply: readonly [Selector, Selector]; eachStatesTotal?: true }
  /** The larger of two. Both must be on the page. */
  | { max: readonly [Selector, Selector] }
  /** Two queues that a request is in one after the other. Both must be on the page. */
  | { add: readonly [Selector, Selector] };

export interface Signal {
  metric: MetricName;
  sources: readonly Source[];
}

export interface LoraInfo {
  /** One series per label combination, never removed; its value is the time it was set. */
  family: string;
  runningLabel: string;
  waitingLabel: string;
  slotsLabel: string;
}

export interface SleepState {
  family: string;
  stateLabel: string;
  /** The state that is not asleep. */
  awake: string;
}

/** A small JSON page of the engine, at the origin of its metrics page. */
export interface VersionPage {
  path: string;
  /** Name of the top-level field that has the version, as text. */
  field: string;
}

/**
 * Another spelling of a name's beginning: own, other and, where other engines or programs may spell
 * a name like that, the labels by which a series is known to be this engine's all the same. Without
 * them such a series is read only when the engine is named by configuration.
 */
export type Alias = readonly [own: string, other: string, proof?: Readonly<Record<string, string>>];

export interface EngineProfile {
  /** `vllm`, `sglang`, …: the `engine` attribute and the value of the `engine` setting. */
  name: string;
  title: string;
  /** Where the engine serves its page, when the setting gives no path. */
  metricsPath: string;
  /** The beginning of the engine's own names, by which nobody else's begin. */
  prefix?: string;
  /** Other spellings of a name's beginning: `['sglang:', 'sglang_']`. */
  aliases?: readonly Alias[];
  /** Its values are data-parallel ranks with queues of their own: numbers add up. */
  rankLabel?: string;
  /**
   * Series that differ only in these count the same requests: the largest is taken. So it is for
   * every other label that ends in `_rank`, of which there are more with each release.
   */
  replicaLabels?: readonly string[];
  /** Series that have this label with any value but the empty one are parts of a total. */
  partLabel?: string;
  modelLabels: readonly string[];
  signals: readonly Signal[];
  /** Any movement of one of these proves that the engine steps, besides the token counters. */
  progress?: readonly Selector[];
  /** Where the engine tells its version; the first page that is there counts. */
  versionPages?: readonly VersionPage[];
  lora?: LoraInfo;
  sleep?: SleepState;
}
