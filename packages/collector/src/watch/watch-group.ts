/**
 * Watchers that want frames at the same distance. What changed is encoded once for all of them;
 * each has its own place in the stream.
 *
 * A watcher whose last frames are still under way gets nothing more: the slots that change
 * meanwhile are marked (one byte each), and when it has caught up it is told their newest state.
 * So a slow one costs a mark per change, never a growing queue, and never delays the others.
 */
import type { WatchCall } from '@leadsman/link';
import { type FrameSender, keyframeIntervalMs } from '@leadsman/wire';
import { ViewReader } from '../view/view-reader.ts';
import { ViewFrames } from './view-frames.ts';

export interface WatchCounters {
  frames: number;
  frameBytes: number;
  /** Ticks at which a watcher was still busy with what it had. */
  lags: number;
}

interface Watcher {
  call: WatchCall;
  wantsKeyframe: boolean;
  /** Slots to tell of when it has caught up; unset while it keeps up. */
  dirty: Uint8Array | undefined;
}

export class WatchGroup {
  readonly #reader: ViewReader;
  readonly #frames: ViewFrames;
  readonly #counters: WatchCounters;
  readonly #watchers = new Map<WatchCall, Watcher>();
  #keyframeMs = Number.NEGATIVE_INFINITY;

  constructor(view: SharedArrayBuffer, sender: FrameSender, counters: WatchCounters) {
    this.#reader = new ViewReader(view);
    this.#frames = new ViewFrames(this.#reader, sender);
    this.#counters = counters;
  }

  get size(): number {
    return this.#watchers.size;
  }

  /** The next tick tells it everything. */
  add(call: WatchCall): void {
    this.#watchers.set(call, { call, wantsKeyframe: true, dirty: undefined });
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
    const changes = this.#frames.changes(nowMs);
    let keyframe: Uint8Array[] | undefined;
    const due = nowMs - this.#keyframeMs >= keyframeIntervalMs;
    if (due) this.#keyframeMs = nowMs;
    for (const watcher of this.#watchers.values()) {
      watcher.wantsKeyframe ||= due;
      if (watcher.call.writableLength > 0) {
        this.#counters.lags++;
        this.#mark(watcher);
        continue;
      }
      // Before the keyframe too: only they tell who left.
      if (watcher.dirty === undefined) this.#send(watcher, changes);
      if (watcher.wantsKeyframe) {
        keyframe ??= this.#frames.keyframe(nowMs, due);
        this.#send(watcher, keyframe);
        watcher.wantsKeyframe = false;
      } else if (watcher.dirty !== undefined) {
        this.#mark(watcher);
        this.#send(watcher, this.#frames.marked(watcher.dirty, nowMs));
      }
      watcher.dirty = undefined;
    }
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
