/** Whether a process stayed as large as it was: its memory over time, its handles at rest. */

export interface ProcessSample {
  atMs: number;
  /** Memory of its own that is resident (RssAnon), bytes. */
  bytes: number;
  /** Open file descriptors. */
  handles: number;
}

export interface Growth {
  name: string;
  samples: number;
  /** Median of the second quarter of the time, bytes: the first one is the warm-up. */
  beforeBytes: number;
  /** Median of the last quarter, bytes. */
  afterBytes: number;
  /** Between the middles of the two quarters, bytes per minute. */
  bytesPerMinute: number;
  /** At rest, before and after the traffic. */
  handlesBefore: number;
  handlesAfter: number;
}

/** Heaps breathe: less than that, and than a tenth, is no growth. */
const breathBytes = 12 * 1_048_576;
/** Connections that a pool may keep open for a while. */
const handlesSpare = 16;
const samplesMin = 8;

/** From samples in the order of time; `rest` are the handles before and after. */
export function growthOf(
  name: string,
  samples: readonly ProcessSample[],
  rest: { before: number; after: number },
): Growth {
  const quarter = Math.floor(samples.length / 4);
  const second = samples.slice(quarter, 2 * quarter);
  const last = samples.slice(samples.length - quarter);
  const [before, after] = [median(second), median(last)];
  const minutes = (middle(last) - middle(second)) / 60_000;
  return {
    ...{ name, samples: samples.length, beforeBytes: before, afterBytes: after },
    bytesPerMinute: (after - before) / minutes,
    ...{ handlesBefore: rest.before, handlesAfter: rest.after },
  };
}

/** Undefined: flat; else in words what grew. */
export function growthBreach(growth: Growth): string | undefined {
  const { samples, beforeBytes, afterBytes, handlesBefore, handlesAfter } = growth;
  if (samples < samplesMin) return `only ${samples} samples`;
  if (afterBytes - beforeBytes > breathBytes + beforeBytes / 10) {
    return `memory grew from ${megabytes(beforeBytes)} to ${megabytes(afterBytes)}`;
  }
  if (handlesAfter > handlesBefore + handlesSpare) {
    return `handles grew from ${handlesBefore} to ${handlesAfter}`;
  }
  return undefined;
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MiB`;
}

function median(samples: readonly ProcessSample[]): number {
  const sorted = samples.map(({ bytes }) => bytes).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

function middle(samples: readonly ProcessSample[]): number {
  return ((samples.at(0)?.atMs ?? Number.NaN) + (samples.at(-1)?.atMs ?? Number.NaN)) / 2;
}
