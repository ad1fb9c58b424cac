/**
 * Watchers that want frames at the same distance. What changed is encoded once for all of them;
 * each has its own place in the stream.
 *
 * A watcher whose last frames are still under way gets nothing more: the slots that change
 * meanwhile are marked (one byte each), its place among the departures stays where it was, and when
 * it has caught up it is told who left and the newest state of what changed. So a slow one costs a
 * mark per change, never a growing queue, and never delays the others.
 *
 * A newcomer may come from another replica, with a view of its own: it is told who left here
 * lately, then everything. An endpoint that is merely unknown here is not told as gone: its sender
 * may not have found this replica yet.
 */
import type { WatchCall } from '@leadsman/link';
import { ViewReader } from '@leadsman/view/reader';
import { type FrameSender, keyframeIntervalMs } from '@leadsman/wire';
import { type Departures, tellNewcomersMs } from './departures.ts';
import { ViewFrames } from './view-frames.ts';

export interface WatchCounters {
  frames: number;
  frameBytes: number;
  /** Ticks at which a watcher was still busy with what it had. */
  lags: number;
  /** Departures that were forgotten before a watcher had caught up; they expire there. */
  missedDepartures: number;
}

export interface WatchGroupOptions {
  view: ArrayBufferLike;
  /** Noted by the ingest of the view, in this thread. */
  departures: Departures;
  sender: FrameSender;
  counters: WatchCounters;
}

interface Watcher {
  call: WatchCall;
  isBusy: boolean;
  wantsKeyframe: boolean;
  /** The departure that it is to be told next; -1 for a newcomer. */
  departure: number;
  /** Slots to tell of when it has caught up; unset while it keeps up. */
  dirty: Uint8Array | undefined;
}

export class WatchGroup {
  readonly #reader: ViewReader;
  readonly #departures: Departures;
  readonly #frames: ViewFrames;
  readonly #counters: WatchCounters;
  readonly #watchers = new Map<WatchCall, Watcher>();
  /** The departure that those who keep up are to be told next. */
  #departure: number;
  #keyframeMs = Number.NEGATIVE_INFINITY;

  constructor({ view, departures, sender, counters }: WatchGroupOptions) {
    this.#reader = new ViewReader(view);
    this.#departures = departures;
    this.#departure = departures.count;
    this.#frames = new ViewFrames(this.#reader, departures, sender);
    this.#counters = counters;
  }

  get size(): number {
    return this.#watchers.size;
  }

  /** The next tick tells it everything. */
  add(call: WatchCall): void {
    this.#watchers.set(call, {
      call,
      isBusy: false,
      wantsKeyframe: true,
      departure: -1,
      dirty: undefined,
    });
  }

  remove(call: WatchCall): void {
    this.#watchers.delete(call);
  }

  calls(): IterableIterator<WatchCall> {
    return this.#watchers.keys();
  }

  /** Sends every watcher what it is due. */
  tick(nowMs: number): void {
    this.#reader.refresh();
    const changes = this.#frames.changes(this.#departure, nowMs);
    const due = nowMs - this.#keyframeMs >= keyframeIntervalMs;
    if (due) this.#keyframeMs = nowMs;
    for (const watcher of this.#watchers.values()) {
      watcher.wantsKeyframe ||= due;
      watcher.isBusy = watcher.call.writableLength > 0;
      if (watcher.isBusy) {
        this.#counters.lags++;
        this.#mark(watcher);
      } else this.#news(watcher, changes, nowMs);
    }
    this.#departure = this.#departures.count;
    // After all of the news, as its frames may have numbers above theirs.
    let keyframe: Uint8Array[] | undefined;
    for (const watcher of this.#watchers.values()) {
      if (watcher.isBusy || !watcher.wantsKeyframe) continue;
      keyframe ??= this.#frames.keyframe(nowMs, due);
      this.#send(watcher, keyframe);
      watcher.wantsKeyframe = false;
    }
  }

  /** Tells a watcher what it has missed, but for what the keyframe behind that will tell. */
  #news(watcher: Watcher, changes: readonly Uint8Array[], nowMs: number): void {
    const keepsUp = watcher.dirty === undefined && watcher.departure === this.#departure;
    if (keepsUp) this.#send(watcher, changes);
    else {
      this.#send(watcher, this.#frames.departed(this.#placeOf(watcher, nowMs)));
      if (watcher.dirty !== undefined && !watcher.wantsKeyframe) {
        this.#mark(watcher);
        this.#send(watcher, this.#frames.marked(watcher.dirty, nowMs));
      }
      watcher.dirty = undefined;
    }
    watcher.departure = this.#departures.count;
  }

  #placeOf(watcher: Watcher, nowMs: number): number {
    if (watcher.departure < 0) return this.#departures.firstSince(nowMs, tellNewcomersMs);
    this.#counters.missedDepartures += Math.max(0, this.#departures.oldest - watcher.departure);
    return watcher.departure;
  }

  #mark(watcher: Watcher): void {
    watcher.dirty ??= new Uint8Array(this.#reader.slotsMax);
    const { changed, changedCount } = this.#reader;
    for (let i = 0; i < changedCount; i++) watcher.dirty[changed[i]!] = 1;
  }

  #send(watcher: Watcher, frames: readonly Uint8Array[]): void {
    for (const frame of frames) {
      watcher.call.write(frame);
      this.#counters.frames++;
      this.#counters.frameBytes += frame.length;
    }
  }
}
