/** Finds a trace: a file in the public form or in our own, or an excerpt kept here, by its name. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { UsageError } from '../../arguments/usage-error.ts';
import { readExcerpt } from './excerpt.ts';
import { readTrace } from './read-trace.ts';
import type { Trace } from './trace.ts';

const excerpts = new URL('excerpts/', import.meta.url);
const suffix = '.trace';

export function traceNames(): string[] {
  return readdirSync(excerpts)
    .filter((file) => file.endsWith(suffix))
    .map((file) => file.slice(0, -suffix.length))
    .sort();
}

/** Throws an error that names file and line. */
export function openTrace(nameOrFile: string): Trace {
  if (existsSync(nameOrFile)) {
    const text = readFileSync(nameOrFile, 'utf8');
    if (nameOrFile.endsWith(suffix)) return readExcerpt(text);
    try {
      return readTrace(text, basename(nameOrFile).replace(/\.jsonl$/, ''));
    } catch (error) {
      throw new UsageError(`${nameOrFile}, ${(error as Error).message}`);
    }
  }
  const names = traceNames();
  if (!names.includes(nameOrFile)) {
    throw new UsageError(`--trace: no file and no trace "${nameOrFile}"; ${names.join(', ')}`);
  }
  return readExcerpt(readFileSync(new URL(`${nameOrFile}${suffix}`, excerpts), 'utf8'));
}
