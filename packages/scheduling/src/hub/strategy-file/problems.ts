/** Collects what is wrong with a file, so that an admin sees all of it at once. */
import * as z from 'zod';
import { StrategyFileError } from './strategy-file-error.ts';
import type { YamlPath, YamlSource } from './yaml-source.ts';

export class Problems {
  readonly #file: string;
  readonly #source: YamlSource;
  readonly #found: { line: number; message: string }[] = [];

  constructor(file: string, source: YamlSource) {
    this.#file = file;
    this.#source = source;
    this.#found.push(...source.problems);
  }

  get count(): number {
    return this.#found.length;
  }

  add(path: YamlPath, message: string): void {
    const name = pathText(path);
    const text = name === '' ? message : `${name}: ${message}`;
    this.#found.push({ line: this.#source.lineOf(path), message: text });
  }

  /** Takes over the issues of a schema; `base` is where the checked value stands. */
  addIssues(error: z.ZodError, base: YamlPath): void {
    for (const issue of error.issues) {
      const path = [...base, ...issue.path.map((part) => part as string | number)];
      if (issue.code === 'unrecognized_keys') {
        for (const key of issue.keys) this.add([...path, key], 'unknown field');
      } else {
        this.add(path, issue.message);
      }
    }
  }

  /** Takes over what a check threw. */
  addFailure(error: unknown, base: YamlPath): void {
    if (error instanceof z.ZodError) this.addIssues(error, base);
    else this.add(base, error instanceof Error ? error.message : String(error));
  }

  /** Throws {@link StrategyFileError} if anything was found. */
  throwIfAny(): void {
    if (this.#found.length === 0) return;
    const sorted = this.#found.toSorted((a, b) => a.line - b.line);
    throw new StrategyFileError(
      sorted.map(({ line, message }) => `${this.#file}:${line}: ${message}`),
    );
  }
}

/** `pools.team/llama.filters[2].type` */
function pathText(path: YamlPath): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else text += text === '' ? part : `.${part}`;
  }
  return text;
}

/** `a, b, c`, for messages that list what is known. */
export function listNames(names: Iterable<string>): string {
  return [...names].sort().join(', ');
}
