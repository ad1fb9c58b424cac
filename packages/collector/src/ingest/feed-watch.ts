/**
 * How complete the view is, from whether its source is connected and for how long. Every sender
 * repeats all it knows each second, so a source that has been connected for longer has told all.
 */

import { type FeedState, feedState } from '@leadsman/view/layout';
import { keyframeIntervalMs } from '@leadsman/wire';

/** One keyframe interval, and half of one for the way and for jitter. */
const syncAfterMsDefault = keyframeIntervalMs * 1.5;

export class FeedWatch {
  readonly #syncAfterMs: number;
  #connectedAtMs = Number.NaN;
  #everConnected = false;
  #isSynced = false;

  constructor(syncAfterMs: number = syncAfterMsDefault) {
    this.#syncAfterMs = syncAfterMs;
  }

  /**
   * The state at `nowMs`, given whether the source is connected then, and when the latest sender
   * came of whom more were to be expected. Once whole, a connected feed stays so.
   */
  update(
    connected: boolean,
    nowMs: number,
    arrivedAtMs: number = Number.NEGATIVE_INFINITY,
  ): FeedState {
    if (!connected) {
      this.#connectedAtMs = Number.NaN;
      this.#isSynced = false;
      return this.#everConnected ? feedState.disconnected : feedState.never;
    }
    this.#everConnected = true;
    if (Number.isNaN(this.#connectedAtMs)) this.#connectedAtMs = nowMs;
    const sinceMs = Math.max(this.#connectedAtMs, arrivedAtMs);
    this.#isSynced ||= nowMs - sinceMs >= this.#syncAfterMs;
    return this.#isSynced ? feedState.synced : feedState.syncing;
  }
}
