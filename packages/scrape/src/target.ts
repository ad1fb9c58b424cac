/**
 * A target: one page that is scraped again and again, at its own pace, one scrape at a time. A
 * sidecar has one for each serving port of its pod; a node agent one for each pod of its node that
 * has no sidecar.
 */
import { type Reason, reason } from '@leadsman/wire';
import type { WayStatus } from './by-name/by-name.ts';
import { EngineVersion } from './engine-version.ts';
import type { FetchSettings } from './http/page-fetcher.ts';
import { VersionReader } from './http/version-reader.ts';
import { Pace, type PaceSettings } from './pace.ts';
import type { PageReader } from './page-reader.ts';
import { type PageCounters, PageSource, type Scraped } from './page-source.ts';
import type { SuspicionSettings } from './suspicion.ts';
import type { Clock, TargetIdentity } from './target-identity.ts';
import { TargetState } from './target-state.ts';

export interface TargetOptions {
  identity: TargetIdentity;
  fetch: FetchSettings;
  pace: PaceSettings;
  suspicion: SuspicionSettings;
  /** Name of an engine profile, or `auto` to find out from the page. */
  engine: string;
  /** Whether the engine may be asked for its series by name, where that works; by default it may. */
  byName?: boolean;
}

export interface TargetDeps {
  reader: PageReader;
  clock: Clock;
  /** CPU time of this thread, ms; a busy node must not make a page look slow. Own clock if left out. */
  cpuMs?: () => number;
  /** Uniform in [0, 1). */
  random: () => number;
  /** Called once after each scrape, failed or not; must not throw. */
  onReport: (target: Target) => void;
}

/** What a target's scrapes came to since its start; counters of the process add them up. */
export interface TargetCounters {
  scrapes: number;
  invalidSamples: number;
  unknownRankLabels: number;
  malformedLines: number;
  droppedSamples: number;
  /** Times that the engine was asked for its version, and did not tell one. */
  versionRequests: number;
  versionFailures: number;
}

const plainPath = '/metrics';
const unknownEngine =
  'no series that only one known engine has; name the engine (--engine, or leadsman.dev/engine on the pod), or see leadsman explain';

export class Target {
  readonly state: TargetState;
  readonly counters: TargetCounters = {
    scrapes: 0,
    invalidSamples: 0,
    unknownRankLabels: 0,
    malformedLines: 0,
    droppedSamples: 0,
    versionRequests: 0,
    versionFailures: 0,
  };
  readonly #options: TargetOptions;
  readonly #deps: TargetDeps;
  readonly #source: PageSource;
  readonly #pace: Pace;
  readonly #version: EngineVersion;
  /** Paths tried in turn until one gives a page: some engines serve it elsewhere. */
  readonly #paths: readonly string[];
  #pathIndex = 0;
  #engine: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #started = false;
  #stopped = false;

  /** Throws TypeError on an unusable URL, RangeError on an engine that is not known. */
  constructor(options: TargetOptions, deps: TargetDeps) {
    this.#options = options;
    this.#deps = deps;
    this.state = new TargetState(options.identity, options.suspicion, deps.clock);
    this.#source = this.#createSource();
    this.#pace = new Pace(options.pace, deps.random);
    this.#version = this.#createVersion();
    this.#engine = options.engine === 'auto' ? undefined : options.engine;
    if (this.#engine !== undefined && deps.reader.profile(this.#engine) === undefined) {
      throw new RangeError(`unknown engine: ${this.#engine}`);
    }
    this.#paths = this.#candidatePaths();
    this.#source.path = this.#paths[0] as string;
    this.state.scrapeIntervalMs = this.#pace.intervalMs;
  }

  /** The engine as configured or found; `undefined` until it is known. */
  get engine(): string | undefined {
    return this.#engine;
  }

  /** The pages that its scrapes fetched, by the way they were asked for. */
  get pages(): Readonly<PageCounters> {
    return this.#source.counters;
  }

  /** How the engine is asked now, and what that saves. */
  get way(): WayStatus {
    return this.#source.status;
  }

  /** The planned time between two scrapes, ms. */
  get intervalMs(): number {
    return this.#pace.intervalMs;
  }

  /**
   * Begins to scrape: at the grid's next moment, or after a random part of the interval. Only the
   * first call does anything, and none after {@link stop}.
   */
  start(): void {
    if (this.#started || this.#stopped) return;
    this.#started = true;
    this.#schedule(this.#pace.firstDelayMs(this.#deps.clock.nowMs()));
  }

  /** Ends scraping for good; a scrape in flight is given up and not reported. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#source.close();
    await Promise.all([this.#running, this.#version.stop()]);
  }

  /**
   * One scrape, now, outside of the pace; must not be called while started. Does not ask for the
   * engine's version.
   */
  async scrapeOnce(): Promise<void> {
    await this.#scrape();
  }

  #schedule(delayMs: number): void {
    this.#timer = setTimeout(() => {
      this.#running = this.#scrape().then((nextMs) => {
        this.#running = undefined;
        if (this.#stopped) return;
        // Before the report is sent: that takes time which would be added to the delay.
        this.#schedule(nextMs);
        this.#deps.onReport(this);
        this.#followVersion();
      });
    }, delayMs);
  }

  #createSource(): PageSource {
    const { fetch, byName = true } = this.#options;
    const { clock, reader, cpuMs = threadCpuMs } = this.#deps;
    return new PageSource(
      { fetch, byName },
      {
        reader,
        nowMs: () => clock.nowMs(),
        cpuMs,
        isRestart: ({ metrics }) => this.state.isRestart(metrics),
      },
    );
  }

  #createVersion(): EngineVersion {
    const { fetch } = this.#options;
    const { clock, reader } = this.#deps;
    const nowMs = () => clock.nowMs();
    return new EngineVersion(new VersionReader(fetch, nowMs), nowMs, {
      counters: this.counters,
      pagesOf: (engine) => reader.profile(engine)?.versionPages ?? [],
      onVersion: (version) => {
        const last = this.state.engineVersion;
        // Another release may answer otherwise. One that was not known before is none.
        if (last !== '' && version !== '' && version !== last) this.#source.restart();
        this.state.engineVersion = version;
      },
    });
  }

  /** Lets the version be asked for, beside the scrapes, when the last one gives reason to. */
  #followVersion(): void {
    const { state } = this;
    if (state.reason === reason.connect) this.#version.lost();
    else if (state.reason === reason.ok && this.#engine !== undefined) {
      this.#version.seen(this.#engine, state.epoch);
    }
  }

  /** Scrapes and takes the result in; resolves to the delay before the next one. Never rejects. */
  async #scrape(): Promise<number> {
    const { way } = this.#source;
    const scraped = await this.#source.scrape(this.#engine);
    this.counters.scrapes++;
    const changed = this.#take(scraped);
    // Half of the median would be of the other way's durations.
    if (this.#source.way !== way) this.#pace.forget();
    const outcome = {
      // Reading is paid by the others of this process, as rendering is by the engine's requests.
      durationMs: scraped.totalMs,
      failed: this.state.reason !== reason.ok,
      idle: !changed && this.state.isIdle,
      isCheck: scraped.isCheck,
    };
    const delayMs = this.#pace.next(outcome, this.#deps.clock.nowMs());
    this.state.scrapeIntervalMs = this.#pace.intervalMs;
    return delayMs;
  }

  #take({ outcome, engine, isPage, startedAtMs, durationMs }: Scraped): boolean {
    this.#engine = engine;
    if ('reason' in outcome) {
      const unknown = engine === undefined && outcome.reason === reason.noSeries;
      this.state.fail(outcome.reason, unknown ? unknownEngine : outcome.detail);
      if (!isPage) this.#tryOtherPath(outcome.reason);
      else if (outcome.reason !== reason.tooSlow && this.#options.engine === 'auto') {
        // Another engine may answer here after a restart.
        this.#engine = undefined;
        this.#source.restart();
      }
      return true;
    }
    const { reading } = outcome;
    this.counters.invalidSamples += reading.invalidSamples;
    this.counters.unknownRankLabels += reading.unknownRankLabels;
    this.counters.malformedLines += reading.malformedLines;
    this.counters.droppedSamples += reading.droppedSamples;
    const changed = this.state.succeed(reading, startedAtMs, durationMs);
    if (changed) this.#source.noteChange();
    return changed;
  }

  #candidatePaths(): string[] {
    const configured = this.#source.path;
    const { reader } = this.#deps;
    if (this.#engine !== undefined) {
      const own = reader.profile(this.#engine)?.metricsPath ?? plainPath;
      return [configured === '/' ? own : configured];
    }
    if (configured !== '/' && configured !== plainPath) return [configured];
    const others = reader.engineNames.map((name) => reader.profile(name)?.metricsPath ?? plainPath);
    return [...new Set([plainPath, ...others])];
  }

  /** A path that gives something else than a page is not asked again before the others. */
  #tryOtherPath(why: Reason): void {
    if (this.#paths.length < 2 || this.state.reading !== undefined) return;
    if (why !== reason.contentType && why !== reason.httpStatus) return;
    this.#pathIndex = (this.#pathIndex + 1) % this.#paths.length;
    this.#source.path = this.#paths[this.#pathIndex] as string;
  }
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
