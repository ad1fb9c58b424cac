/**
 * Serves the view to watchers (`Feed/Watch`): pickers without a broker of their own.
 *
 * Only a whole view is served: a watcher that comes before the feed is complete, or whose
 * collector loses its feed for {@link feedLostMs}, is told `UNAVAILABLE` and goes to another
 * replica. When none is whole it keeps what it has.
 */
import { status } from '@grpc/grpc-js';
import type { WatchCall } from '@leadsman/link';
import type { FrameSender } from '@leadsman/wire';
import type { Departures } from './departures.ts';
import { type WatchCounters, WatchGroup } from './watch-group.ts';

export interface WatchServerOptions {
  view: ArrayBufferLike;
  /** Who left the view, noted by the ingest that fills it. */
  departures: Departures;
  /** Distance of two frames for watchers that leave it to us, ms. */
  intervalMs: number;
  watchersMax: number;
  /** Whether the view is whole now. */
  synced: () => boolean;
  nowMs: () => number;
  /** A new identity for the frames of a group. */
  sender: () => FrameSender;
}

/** Distances on offer, ms: one group of watchers, and one copy of the view, for each in use. */
const intervalsMs = [10, 20, 50, 100, 200, 500, 1_000];

/** A feed may blink this long (one reconnection) before watchers are sent away. */
const feedLostMs = 3_000;

export class WatchServer {
  readonly counters: WatchCounters & { refused: number; ended: number } = {
    frames: 0,
    frameBytes: 0,
    lags: 0,
    missedDepartures: 0,
    refused: 0,
    ended: 0,
  };
  readonly #options: WatchServerOptions;
  readonly #groups = new Map<number, { group: WatchGroup; timer: NodeJS.Timeout }>();
  #syncedMs = Number.NEGATIVE_INFINITY;

  constructor(options: WatchServerOptions) {
    this.#options = options;
  }

  get watchers(): number {
    let sum = 0;
    for (const { group } of this.#groups.values()) sum += group.size;
    return sum;
  }

  /** Takes a call; to be given to the frame server. */
  readonly watch = (call: WatchCall): void => {
    if (!this.#options.synced()) {
      this.#refuse(call, status.UNAVAILABLE, 'the view is not complete yet');
      return;
    }
    if (this.watchers >= this.#options.watchersMax) {
      this.#refuse(call, status.RESOURCE_EXHAUSTED, 'too many watchers');
      return;
    }
    const intervalMs = this.#intervalFor(call.request.intervalMs);
    const { group } = this.#groups.get(intervalMs) ?? this.#open(intervalMs);
    group.add(call);
    const leave = () => {
      group.remove(call);
      // Called more than once per watcher, also when others watch at this distance meanwhile.
      const isOpen = this.#groups.get(intervalMs)?.group === group;
      if (isOpen && group.size === 0) this.#close(intervalMs);
    };
    call.on('cancelled', leave);
    call.on('close', leave);
    call.on('error', leave);
  };

  /** Sends every watcher away. */
  stop(): void {
    for (const [intervalMs, { group }] of this.#groups) {
      for (const call of [...group.calls()]) {
        this.counters.ended++;
        call.emit('error', { code: status.UNAVAILABLE, details: 'no whole view here any more' });
      }
      this.#close(intervalMs);
    }
  }

  /** The largest distance on offer that is not above what is wanted. */
  #intervalFor(wantedMs: number): number {
    const wanted = wantedMs > 0 ? wantedMs : this.#options.intervalMs;
    return intervalsMs.findLast((offered) => offered <= wanted) ?? intervalsMs[0]!;
  }

  #open(intervalMs: number) {
    const { view, departures, sender, nowMs } = this.#options;
    const group = new WatchGroup({ view, departures, sender: sender(), counters: this.counters });
    const timer = setInterval(() => {
      const now = nowMs();
      if (this.#options.synced()) this.#syncedMs = now;
      if (now - this.#syncedMs > feedLostMs) this.stop();
      else group.tick(now);
    }, intervalMs);
    const opened = { group, timer };
    this.#syncedMs = nowMs();
    this.#groups.set(intervalMs, opened);
    return opened;
  }

  #close(intervalMs: number): void {
    clearInterval(this.#groups.get(intervalMs)?.timer);
    this.#groups.delete(intervalMs);
  }

  #refuse(call: WatchCall, code: status, details: string): void {
    this.counters.refused++;
    call.emit('error', { code, details });
  }
}
