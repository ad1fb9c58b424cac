/** A reading: what one page says, in the report's terms, before any history is taken in. */
import { metricsCount, type RankNumbers, type Reason } from '@leadsman/wire';

/** Why a number is unknown, or that it is known. Kept per metric for `leadsman explain`. */
export const finding = {
  /** No series of any of its sources is on the page. */
  absent: 0,
  known: 1,
  /** Series are there, but none has a usable number, or one rank's has not. */
  invalid: 2,
  /** Lines of it are missing from the page, so that what is left would be too little. */
  lost: 3,
} as const;

export interface Reading {
  engine: string;
  /** By {@link metric}; NaN = unknown. */
  metrics: Float64Array;
  /** By metric: one of {@link finding}. */
  findings: number[];
  /** By metric: the sample names that gave the number, or that gave an unusable one. */
  families: (string | undefined)[];
  ranks: RankNumbers[];
  /** Ranks seen, at most as many as the wire carries. */
  engineRanks: number;
  models: string[];
  loraRunning: readonly string[] | undefined;
  loraWaiting: readonly string[] | undefined;
  sleeping: boolean;
  /** Counters and other numbers whose movement proves that the engine steps. */
  progress: number[];
  /** Series of the profile on the page; 0 means that the page is not this engine's. */
  series: number;
  invalidSamples: number;
  /** Label lists with a `…_rank` label that the profile does not know; see LabelSets. */
  unknownRankLabels: number;
  malformedLines: number;
  droppedSamples: number;
}

/** A reading, or why there is none. */
export type PageOutcome = { reading: Reading } | { reason: Reason; detail: string };

export function emptyReading(engine: string): Reading {
  return {
    engine,
    metrics: new Float64Array(metricsCount).fill(Number.NaN),
    findings: new Array<number>(metricsCount).fill(finding.absent),
    families: new Array<string | undefined>(metricsCount).fill(undefined),
    ranks: [],
    engineRanks: 0,
    models: [],
    loraRunning: undefined,
    loraWaiting: undefined,
    sleeping: false,
    progress: [],
    series: 0,
    invalidSamples: 0,
    unknownRankLabels: 0,
    malformedLines: 0,
    droppedSamples: 0,
  };
}

/** Whether what `next` says in words (engine, models, adapters) is not what `last` said. */
export function hasOtherWords(last: Reading | undefined, next: Reading): boolean {
  return (
    last === undefined ||
    last.engine !== next.engine ||
    !isSameList(last.models, next.models) ||
    !isSameList(last.loraRunning, next.loraRunning) ||
    !isSameList(last.loraWaiting, next.loraWaiting)
  );
}

function isSameList(
  left: readonly string[] | undefined,
  right: readonly string[] | undefined,
): boolean {
  if (left === undefined || right === undefined) return left === right;
  return left.length === right.length && left.every((name, i) => name === right[i]);
}
