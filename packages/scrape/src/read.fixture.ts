/** Reads a page given as lines, by name of metric, as tests want it. */
import { type MetricName, metric } from '@leadsman/wire';
import type { EngineProfile } from './engine/profile.ts';
import type { Reading } from './engine/reading.ts';
import { PageReader } from './page-reader.ts';

const builtIn = new PageReader();

/** The reading of a page; throws when there is none. `engine` is found out when left out. */
export function readingOf(lines: readonly string[], engine?: string): Reading {
  return readWith(builtIn, lines, engine);
}

export function customReadingOf(profile: EngineProfile, lines: readonly string[]): Reading {
  return readWith(new PageReader([profile]), lines, profile.name);
}

/** One number of a reading, NaN when unknown. */
export function numberOf(reading: Reading, name: MetricName): number {
  return reading.metrics[metric[name]] as number;
}

function readWith(reader: PageReader, lines: readonly string[], engine?: string): Reading {
  const page = Buffer.from(`${lines.join('\n')}\n`);
  const outcome = reader.read(page, engine ?? reader.detect(page) ?? 'vllm');
  if (!('reading' in outcome)) throw new Error(outcome.detail);
  return outcome.reading;
}
