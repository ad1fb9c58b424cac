/**
 * One scrape of a target's page: fetched and read, by name where the engine can do that, and whole
 * where it cannot or where the answer by name is not believed ({@link ByName}). One deadline over
 * all of it; an answer by name has half of the time, so that the rest is left for the whole page.
 */
import { type Reason, reason } from '@leadsman/wire';
import { ByName, type ReadPage, type Way, type WayStatus } from './by-name/by-name.ts';
import type { Reading } from './engine/reading.ts';
import { type FetchSettings, PageFetcher } from './http/page-fetcher.ts';
import type { PagePath } from './http/page-path.ts';
import { isPage, type PageResult } from './http/page-result.ts';
import type { PageReader } from './page-reader.ts';

export interface PageSourceOptions {
  fetch: FetchSettings;
  /** Whether pages may be asked for by name. */
  byName: boolean;
}

export interface PageSourceDeps {
  reader: PageReader;
  nowMs: () => number;
  /** CPU time of this thread, ms. */
  cpuMs: () => number;
  /** Whether a reading, taken for true, means that the engine has restarted. */
  isRestart: (reading: Reading) => boolean;
}

/** What the scrapes of a target fetched since its start. */
export interface PageCounters {
  wholePages: number;
  wholeBytes: number;
  byNamePages: number;
  byNameBytes: number;
  /** Answers by name that were not believed, so that the whole page was asked for, too. */
  byNameRefused: number;
}

export interface Scraped {
  /** What was read, or why nothing was. */
  outcome: { reading: Reading } | { reason: Reason; detail: string };
  /** Whether a page came at all. */
  isPage: boolean;
  /** The engine as which it was read; `undefined`: not known. */
  engine: string | undefined;
  /** When the request began that gave the numbers. */
  startedAtMs: number;
  /** How long that request took. */
  durationMs: number;
  /** All requests of the scrape, and reading what they gave. */
  totalMs: number;
  /** A page was read whole while the engine is asked by name. */
  isCheck: boolean;
}

/**
 * CPU time one page may take to be read. A page of 120 KB takes a millisecond; reading is one step, in
 * which all other targets of the process wait, so what takes longer is not read at their pace.
 */
const readMsMax = 100;

export class PageSource {
  readonly counters: PageCounters = {
    wholePages: 0,
    wholeBytes: 0,
    byNamePages: 0,
    byNameBytes: 0,
    byNameRefused: 0,
  };
  readonly #deps: PageSourceDeps;
  readonly #fetcher: PageFetcher;
  readonly #byName: ByName;
  readonly #timeoutMs: number;
  #readMs = 0;
  #closed = false;

  /** Throws TypeError when the URL is none, or is neither http nor https. */
  constructor(options: PageSourceOptions, deps: PageSourceDeps) {
    this.#deps = deps;
    this.#fetcher = new PageFetcher(options.fetch, deps.nowMs);
    this.#byName = new ByName(options.byName);
    this.#timeoutMs = options.fetch.timeoutMs;
  }

  /** Path and query of the whole page. */
  get path(): string {
    return this.#fetcher.path;
  }

  set path(path: string) {
    this.#fetcher.path = path;
  }

  get way(): Way {
    return this.#byName.way;
  }

  get status(): WayStatus {
    return this.#byName.status;
  }

  /** Whether it is known by which way this engine is asked. */
  get isDecided(): boolean {
    return this.#byName.isDecided;
  }

  /** Another engine or release may answer from now on. */
  restart(): void {
    this.#byName.restart();
  }

  /** The numbers of the last scrape are others than those before. */
  noteChange(): void {
    this.#byName.noteChange(this.#deps.nowMs());
  }

  /** Ends a scrape in flight (it fails) and closes the connection, for good. */
  close(): void {
    this.#closed = true;
    this.#fetcher.close();
  }

  /**
   * Scrapes once, as `engine`; `undefined`: to be found out from the page. Never rejects. A second
   * call before the first has ended is a programmer's error.
   */
  async scrape(engine: string | undefined): Promise<Scraped> {
    const startedAtMs = this.#deps.nowMs();
    this.#readMs = 0;
    const path = engine === undefined ? undefined : this.#byName.plan(startedAtMs);
    if (path !== undefined && engine !== undefined) {
      const scraped = await this.#scrapeByName(path, engine, startedAtMs);
      if (scraped !== undefined) return scraped;
    }
    return this.#scrapeWhole(engine, startedAtMs);
  }

  /** `undefined`: the whole page is needed. */
  async #scrapeByName(
    path: PagePath,
    engine: string,
    startedAtMs: number,
  ): Promise<Scraped | undefined> {
    const result = await this.#fetcher.fetch(path, this.#timeoutMs / 2);
    const outcome = this.#read(result, engine);
    if (isPage(result)) {
      this.counters.byNamePages++;
      this.counters.byNameBytes += result.bytes.length;
    }
    const { durationMs } = result;
    if ('reason' in outcome) {
      this.#byName.refuse(outcome);
    } else if (this.#byName.believes(this.#deps.reader, this.#readPage(result, engine, outcome))) {
      const totalMs = durationMs + this.#readMs;
      return {
        ...{ outcome, isPage: true, engine, startedAtMs, durationMs, totalMs },
        isCheck: false,
      };
    }
    this.counters.byNameRefused++;
    return undefined;
  }

  async #scrapeWhole(engine: string | undefined, scrapeAtMs: number): Promise<Scraped> {
    const { reader, nowMs } = this.#deps;
    const startedAtMs = nowMs();
    const leftMs = Math.max(1, this.#timeoutMs - (startedAtMs - scrapeAtMs));
    const result: PageResult = this.#closed
      ? { reason: reason.connect, detail: 'the scraper was stopped', durationMs: 0 }
      : await this.#fetcher.fetch(undefined, leftMs);
    let known = engine;
    if (isPage(result)) {
      this.counters.wholePages++;
      this.counters.wholeBytes += result.bytes.length;
      known ??= this.#detect(result.bytes);
    }
    const outcome = this.#read(result, known ?? reader.engineNames[0] ?? '');
    if ('reason' in outcome) this.#byName.failWhole(outcome.reason);
    else if (known !== undefined) {
      const page = this.#readPage(result, known, outcome);
      this.#byName.takeWhole(reader, this.#fetcher.redirectedPath, page, nowMs());
    }
    const { durationMs } = result;
    const totalMs = startedAtMs - scrapeAtMs + durationMs + this.#readMs;
    return {
      ...{ outcome, isPage: isPage(result), engine: known, startedAtMs, durationMs, totalMs },
      isCheck: this.#byName.way === 'by_name',
    };
  }

  #detect(page: Uint8Array): string | undefined {
    const { reader, cpuMs } = this.#deps;
    const fromMs = cpuMs();
    const engine = reader.detect(page);
    this.#readMs += cpuMs() - fromMs;
    return engine;
  }

  #read(result: PageResult, engine: string): Scraped['outcome'] {
    if (!isPage(result)) return result;
    const { reader, cpuMs } = this.#deps;
    const fromMs = cpuMs();
    const outcome = reader.read(result.bytes, engine);
    const readMs = cpuMs() - fromMs;
    this.#readMs += readMs;
    if (this.#readMs <= readMsMax) return outcome;
    // Failing makes the pace slow down, so that other targets of this process keep theirs.
    const detail = `reading the page took ${Math.round(this.#readMs)} ms`;
    return { reason: reason.tooSlow, detail };
  }

  #readPage(result: PageResult, engine: string, { reading }: { reading: Reading }): ReadPage {
    return {
      engine,
      bytes: isPage(result) ? result.bytes.length : 0,
      durationMs: result.durationMs,
      isRestart: this.#deps.isRestart(reading),
    };
  }
}
