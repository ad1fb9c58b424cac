/**
 * Whether one engine is asked for its whole page or by the names of the series that are read. Pure:
 * pages and times come in, the path of the next scrape goes out (page-source.ts does the rest).
 *
 * Asked by name, an engine renders a tenth of its page in a fraction of the time. Nothing tells
 * whether it can: some ignore the names, some answer with nothing (the Prometheus client in
 * multi-process mode), a proxy may do anything. So it is tried after the first whole page, and an
 * answer is believed only if it has every series that the last whole page had, and counts no less.
 * Else the whole page is asked for in the same scrape, and what it says decides:
 *
 * | the answer by name | and then |
 * |---|---|
 * | has what the whole page has, and is not smaller | taken; the next path is tried, or none |
 * | is an error, another type, no page, without series | not asked again in this epoch |
 * | lacks a name that the whole page has, or counts less | not asked again in this epoch |
 * | has other series, and so has the whole page by now | goes on |
 * | has other series than both, twice in a row | not asked again in this epoch |
 * | does not come in time, or the connection is lost | not asked for a minute, then two, … an hour |
 *
 * A whole page is asked for each minute in any case: it may have names that were not there. And when
 * the numbers stand still, after 5 s, then after as long again: an answer out of a cache would look
 * like that.
 */
import { type Reason, reason } from '@leadsman/wire';
import { PagePath } from '../http/page-path.ts';
import type { PageFailure } from '../http/page-result.ts';
import { PageShape } from './page-shape.ts';
import { selectionPaths } from './selection-paths.ts';

export type Way = 'whole' | 'by_name';

/** How an engine is asked now, and what the other way costs; NaN: not known. */
export interface WayStatus {
  way: Way;
  /** Why not by name; empty when it is. */
  why: string;
  /** Names asked for. */
  names: number;
  wholeBytes: number;
  wholeMs: number;
  byNameBytes: number;
  byNameMs: number;
}

/** What is asked about the page that was read last; its bytes must still be there. */
export interface SeriesReader {
  readShape(engine: string, into: PageShape): void;
  namesOnPage(engine: string): string[];
  /** The sample name with this index in the engine's profile. */
  nameAt(engine: string, index: number): string;
}

/** A page that was read. */
export interface ReadPage {
  engine: string;
  bytes: number;
  durationMs: number;
  /** A counter fell since the last reading. */
  isRestart: boolean;
}

const checkEveryMs = 60_000;
const stillMsMin = 5_000;
const pauseMsMin = 60_000;
const pauseMsMax = 3_600_000;
/** A selection beyond this share of the whole page's bytes saves nothing that is worth a risk. */
const worthShare = 0.8;
/** Answers in a row with other series than the whole page before and after them. */
const strikesMax = 2;

/** What was wrong with an answer by name, until the whole page has told more. */
interface Doubt {
  kind: 'late' | 'refused' | 'shape' | 'fallen';
  why: string;
}

export class ByName {
  readonly #isWanted: boolean;
  #state: 'untried' | 'trying' | 'used' | 'ended' = 'untried';
  #why = '';
  /** The paths of this engine, and which of them is tried or used. */
  #paths: readonly PagePath[] = [];
  #variant = 0;
  #names: readonly string[] = [];
  #madeOf = '';
  /** The last whole page; the page that is looked at. */
  #whole = new PageShape();
  #shape = new PageShape();
  #asked = new PageShape();
  #isKnown = false;
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  #changedAtMs = Number.NEGATIVE_INFINITY;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  #pauseMs = pauseMsMin;
  #strikes = 0;
  #doubt: Doubt | undefined;
  #wholeBytes = Number.NaN;
  #wholeMs = Number.NaN;
  #byNameBytes = Number.NaN;
  #byNameMs = Number.NaN;

  constructor(isWanted: boolean) {
    this.#isWanted = isWanted;
    this.restart();
  }

  get status(): WayStatus {
    return {
      way: this.#state === 'used' ? 'by_name' : 'whole',
      why: this.#state === 'used' ? '' : this.#why,
      names: this.#names.length,
      wholeBytes: this.#wholeBytes,
      wholeMs: this.#wholeMs,
      byNameBytes: this.#byNameBytes,
      byNameMs: this.#byNameMs,
    };
  }

  get way(): Way {
    return this.#state === 'used' ? 'by_name' : 'whole';
  }

  /** Whether nothing is to be found out any more in this epoch. */
  get isDecided(): boolean {
    return this.#state === 'used' || this.#state === 'ended';
  }

  /** Another process may answer, or another release: what was found out counts no longer. */
  restart(): void {
    this.#state = 'untried';
    this.#why = 'no whole page was read yet';
    this.#variant = 0;
    this.#madeOf = '';
    this.#isKnown = false;
    this.#strikes = 0;
    this.#doubt = undefined;
    this.#pauseMs = pauseMsMin;
    this.#pausedUntilMs = Number.NEGATIVE_INFINITY;
    if (!this.#isWanted) this.#end('switched off');
  }

  /** The path by which the next scrape asks; `undefined`: for the whole page. */
  plan(nowMs: number): PagePath | undefined {
    if (this.#state !== 'trying' && this.#state !== 'used') return undefined;
    if (!this.#isKnown || nowMs < this.#pausedUntilMs || this.#isCheckDue(nowMs)) return undefined;
    return this.#paths[this.#variant];
  }

  /**
   * Whether the answer by name that `reader` has just read is as good as the whole page. If not,
   * the whole page is to be read, and told by {@link takeWhole} or {@link failWhole}.
   */
  believes(reader: SeriesReader, page: ReadPage): boolean {
    reader.readShape(page.engine, this.#asked);
    if (!this.#asked.equals(this.#whole)) {
      this.#doubt = { kind: 'shape', why: 'it has other series than the whole page' };
      return false;
    }
    if (page.isRestart) {
      this.#doubt = { kind: 'fallen', why: 'it counts less than the whole page' };
      return false;
    }
    this.#strikes = 0;
    this.#pauseMs = pauseMsMin;
    this.#byNameBytes = page.bytes;
    this.#byNameMs = page.durationMs;
    if (page.bytes <= worthShare * this.#wholeBytes) this.#state = 'used';
    else this.#tryNext();
    return true;
  }

  /** The answer by name was none. As {@link believes} with false. */
  refuse({ reason: code, detail }: Pick<PageFailure, 'reason' | 'detail'>): void {
    const isLate = code === reason.timeout || code === reason.connect;
    this.#doubt = { kind: isLate ? 'late' : 'refused', why: detail };
  }

  /** Takes in the whole page at `path` that `reader` has just read. */
  takeWhole(reader: SeriesReader, path: string, page: ReadPage, nowMs: number): void {
    this.#wholeBytes = page.bytes;
    this.#wholeMs = page.durationMs;
    const doubt = this.#doubt;
    this.#doubt = undefined;
    if (page.isRestart) this.restart();
    else if (doubt !== undefined) this.#judge(doubt, reader, page.engine, nowMs);
    if (this.#state === 'ended') return;
    if (nowMs < this.#pausedUntilMs) {
      this.#isKnown = false;
      return;
    }
    reader.readShape(page.engine, this.#whole);
    this.#isKnown = true;
    this.#checkedAtMs = nowMs;
    this.#choosePaths(path, reader.namesOnPage(page.engine));
  }

  /** The whole page could not be read: then nothing is known of answers by name either. */
  failWhole(why: Reason): void {
    this.#doubt = undefined;
    this.#isKnown = false;
    // Nobody listens: who does next may be another.
    if (why === reason.connect) this.restart();
  }

  /** The scrape that ended at `nowMs` gave other numbers than the one before. */
  noteChange(nowMs: number): void {
    this.#changedAtMs = nowMs;
  }

  #isCheckDue(nowMs: number): boolean {
    const sinceMs = nowMs - this.#checkedAtMs;
    if (sinceMs >= checkEveryMs) return true;
    const stoodStillMs = this.#checkedAtMs - this.#changedAtMs;
    const waitMs = Math.max(stillMsMin, Math.min(checkEveryMs, stoodStillMs));
    return Math.min(sinceMs, nowMs - this.#changedAtMs) >= waitMs;
  }

  #choosePaths(path: string, names: readonly string[]): void {
    const madeOf = `${path} ${names.join(' ')}`;
    if (madeOf === this.#madeOf) return;
    this.#madeOf = madeOf;
    this.#names = names;
    this.#paths = selectionPaths(path, names).map((each) => new PagePath(each));
    this.#state = 'trying';
    this.#why = 'being found out';
    if (this.#variant >= this.#paths.length) this.#end('the page cannot be asked for by name');
  }

  #judge(doubt: Doubt, reader: SeriesReader, engine: string, nowMs: number): void {
    const why = `asked by name: ${doubt.why}`;
    if (doubt.kind === 'late') {
      this.#why = why;
      this.#state = 'trying';
      this.#pausedUntilMs = nowMs + this.#pauseMs;
      this.#pauseMs = Math.min(pauseMsMax, 2 * this.#pauseMs);
      return;
    }
    if (doubt.kind !== 'shape') {
      this.#end(why);
      return;
    }
    reader.readShape(engine, this.#shape);
    if (this.#asked.equals(this.#shape)) return;
    const missing = this.#asked.missingOf(this.#shape);
    if (missing >= 0) this.#end(`asked by name: it lacks ${reader.nameAt(engine, missing)}`);
    else if (++this.#strikes === strikesMax) this.#end(why);
  }

  #tryNext(): void {
    this.#variant++;
    if (this.#variant < this.#paths.length) this.#state = 'trying';
    else this.#end('asked by name: as much as the whole page');
  }

  #end(why: string): void {
    this.#state = 'ended';
    this.#why = why;
  }
}
