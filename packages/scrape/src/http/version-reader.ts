/**
 * Reads the version of an engine from a small JSON page beside its metrics page: same origin, same
 * token, same TLS. Every attempt is bounded: {@link versionTimeoutMs} over all pages that are tried,
 * {@link versionBytesMax} for each, before and after decompression.
 */
import { reason } from '@leadsman/wire';
import type { VersionPage } from '../engine/profile.ts';
import { type FetchSettings, PageFetcher } from './page-fetcher.ts';
import { isPage } from './page-result.ts';
import { jsonContent } from './wanted-content.ts';

const versionTimeoutMs = 2_000;
/** SGLang's page lists all its settings, some 20 KB; the others have a hundred bytes. */
export const versionBytesMax = 65_536;

/** Longer is no version; a development build with its commit has some sixty characters. */
const soundVersion = /^[\x21-\x7e](?:[\x20-\x7e]{0,126}[\x21-\x7e])?$/;

/** The version and the URL that told it, or why there is none. */
export type VersionOutcome = { version: string; from: string } | { why: string };

export class VersionReader {
  readonly #settings: FetchSettings;
  readonly #nowMs: () => number;
  #fetcher: PageFetcher | undefined;

  /** `settings` are those of the metrics page; their bounds do not apply here. */
  constructor(settings: FetchSettings, nowMs: () => number) {
    this.#settings = settings;
    this.#nowMs = nowMs;
  }

  /**
   * Asks the pages in turn until one is there. Never rejects; to be called one at a time. The
   * connection is closed behind it, as the next time may be weeks away.
   */
  async read(pages: readonly VersionPage[]): Promise<VersionOutcome> {
    const deadlineMs = this.#nowMs() + versionTimeoutMs;
    let why = 'the engine has no version page that is known';
    for (const { path, field } of pages) {
      const url = new URL(this.#settings.url).origin + path;
      const timeoutMs = Math.max(1, deadlineMs - this.#nowMs());
      const settings = { ...this.#settings, url, timeoutMs, bytesMax: versionBytesMax };
      try {
        this.#fetcher = new PageFetcher(settings, this.#nowMs, jsonContent);
        const result = await this.#fetcher.fetch();
        if (isPage(result)) {
          const version = versionIn(result.bytes, field);
          if (version !== undefined) return { version, from: url };
          return { why: `${url}: no text in the field "${field}"` };
        }
        why = result.detail;
        if (result.reason !== reason.httpStatus) return { why };
      } catch (error) {
        // A CA file that is not there (any more): the scrape says so, too.
        return { why: (error as Error).message };
      } finally {
        this.close();
      }
    }
    return { why };
  }

  /** Gives up the attempt under way, if any: it fails. */
  close(): void {
    this.#fetcher?.close();
    this.#fetcher = undefined;
  }
}

function versionIn(bytes: Uint8Array, field: string): string | undefined {
  try {
    const json: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof json !== 'object' || json === null || !Object.hasOwn(json, field)) return undefined;
    const value = (json as Record<string, unknown>)[field];
    return typeof value === 'string' && soundVersion.test(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
