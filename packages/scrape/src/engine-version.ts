/**
 * When the version of a target's engine is asked for: after the first good page, and again when the
 * engine was or may have been restarted (a new epoch, another engine, nobody listened in between).
 *
 * It stands beside the scrapes and never in their way: one request at a time on a connection of its
 * own, at least a minute between two whatever happens, and longer each time it fails, as most
 * failures (no such page, no right to it) stay as they are. A failure changes nothing but a count.
 */
import type { VersionPage } from './engine/profile.ts';
import type { VersionOutcome } from './http/version-reader.ts';

/** A restart within it is noticed later; an engine needs longer to load its model. */
const pauseMsMin = 60_000;
const pauseMsMax = 3_600_000;

export interface VersionSource {
  /** Must not reject. */
  read(pages: readonly VersionPage[]): Promise<VersionOutcome>;
  close(): void;
}

export interface VersionUser {
  /** Attempts, and those of them that gave no version: added to. */
  counters: { versionRequests: number; versionFailures: number };
  /** The pages that tell the version of an engine; none: it is not asked. */
  pagesOf: (engine: string) => readonly VersionPage[];
  /** Called with each version learnt, and with `''` when the last one is no longer true. */
  onVersion: (version: string) => void;
}

export class EngineVersion {
  readonly #source: VersionSource;
  readonly #nowMs: () => number;
  readonly #user: VersionUser;
  #engine = '';
  #epoch = 0;
  /** Grows whenever another process may answer. */
  #generation = 0;
  /** Whether the version of this generation is still to be learnt. */
  #due = false;
  #pauseMs = pauseMsMin;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | undefined;
  #stopped = false;

  constructor(source: VersionSource, nowMs: () => number, user: VersionUser) {
    this.#source = source;
    this.#nowMs = nowMs;
    this.#user = user;
  }

  /** A good page of `engine` was read in `epoch`. Cheap when its version is not due. */
  seen(engine: string, epoch: number): void {
    if (engine !== this.#engine || epoch !== this.#epoch) {
      this.#engine = engine;
      this.#epoch = epoch;
      this.#begin();
      this.#user.onVersion('');
    }
    if (!this.#due || this.#stopped || this.#running !== undefined) return;
    if (this.#nowMs() - this.#askedAtMs < this.#pauseMs) return;
    const pages = this.#user.pagesOf(engine);
    if (pages.length === 0) {
      this.#due = false;
      return;
    }
    this.#running = this.#ask(pages).finally(() => {
      this.#running = undefined;
    });
  }

  /** Nobody listened: who answers next may be a newer release that has not counted anything yet. */
  lost(): void {
    this.#begin();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#source.close();
    await this.#running;
  }

  #begin(): void {
    this.#generation++;
    this.#due = true;
    this.#pauseMs = pauseMsMin;
  }

  async #ask(pages: readonly VersionPage[]): Promise<void> {
    const generation = this.#generation;
    this.#askedAtMs = this.#nowMs();
    this.#user.counters.versionRequests++;
    const outcome = await this.#source.read(pages);
    if (this.#stopped) return;
    if ('why' in outcome) this.#user.counters.versionFailures++;
    // What the engine before said is of no use; the next one is asked in its turn.
    if (generation !== this.#generation) return;
    if ('why' in outcome) {
      this.#pauseMs = Math.min(2 * this.#pauseMs, pauseMsMax);
      return;
    }
    this.#due = false;
    this.#user.onVersion(outcome.version);
  }
}
