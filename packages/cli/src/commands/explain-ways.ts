/**
 * Which way a sidecar would take to an engine's numbers, found out as a sidecar does it, and what a
 * page of either way costs: for `leadsman explain URL`. Some twelve requests, one after another.
 */
import { type FetchSettings, type PageReader, PageSource, type Way } from '@leadsman/scrape';

export interface Ways {
  way: Way;
  /** Empty when the engine is asked by name. */
  whyNotByName: string;
  /** Names asked for. */
  names: number;
  wholeBytes: number;
  /** Medians, from the request to the last byte; NaN (null in JSON) when that way is not used. */
  wholeMs: number;
  byNameBytes: number;
  byNameMs: number;
}

/** Scrapes until the way is known; one more than the paths there are, and one for the whole page. */
const triesMax = 4;
const samples = 5;

export interface WaysDeps {
  reader: PageReader;
  engine: string;
  nowMs: () => number;
}

/** Tries and measures. Never rejects. */
export async function measureWays(
  fetch: FetchSettings,
  { reader, engine, nowMs }: WaysDeps,
): Promise<Ways> {
  const deps = { reader, nowMs, cpuMs: () => 0, isRestart: () => false };
  const source = new PageSource({ fetch, byName: true }, deps);
  const whole = new PageSource({ fetch, byName: false }, deps);
  try {
    for (let i = 0; i < triesMax && !source.isDecided; i++) await source.scrape(engine);
    const wasByName = source.way === 'by_name';
    const wholeMs: number[] = [];
    const byNameMs: number[] = [];
    // In pairs, so that what else the engine does at the moment is in both.
    for (let i = 0; i <= samples; i++) {
      const scrape = await whole.scrape(engine);
      // The first one connects.
      if (i > 0) wholeMs.push(scrape.durationMs);
      if (wasByName) byNameMs.push((await source.scrape(engine)).durationMs);
    }
    const { way, why, names, byNameBytes } = source.status;
    const isByName = way === 'by_name';
    return {
      way,
      whyNotByName: why,
      names: isByName ? names : 0,
      wholeBytes: whole.status.wholeBytes,
      wholeMs: median(wholeMs),
      byNameBytes: isByName ? byNameBytes : Number.NaN,
      byNameMs: isByName ? median(byNameMs) : Number.NaN,
    };
  } finally {
    source.close();
    whole.close();
  }
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}
