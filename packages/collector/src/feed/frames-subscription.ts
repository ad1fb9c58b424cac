/**
 * The subscription to all senders' frames, and whether it brings anything. Two states of it must not
 * look like an empty cluster:
 *
 * - *refused*: the user may connect but not subscribe. The link asks again on each connection;
 *   between them this does, as permissions are usually mended under living connections.
 * - *deaf*: this process is so far behind that for {@link deafMs} the link has dropped every message
 *   as too late. Endpoints would expire, though all that is wrong is here.
 *
 * The link of a view is used for nothing else, so every refusal and drop on it is about this.
 */
import type { FrameHandler, FrameSource, NatsLink } from '@leadsman/link';
import { natsSource } from '@leadsman/link/nats/frames';
import { keyframeIntervalMs } from '@leadsman/wire';

/** Asked again and no refusal for as long: granted. */
const retryMs = 5_000;

/** Every living sender repeats itself twice in this time. */
const deafMs = 2 * keyframeIntervalMs;

export class FramesSubscription implements FrameSource {
  readonly subject: string;
  readonly #link: NatsLink;
  readonly #nowMs: () => number;
  #onFrame: FrameHandler | undefined;
  #source: FrameSource | undefined;
  #unwatch: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #errors = 0;
  #isRefused = false;
  #isAsked = false;
  #delivered = 0;
  #deliveredBefore = 0;
  #droppedBefore = 0;
  #droppedAtMs = Number.NaN;
  /** Since when all was dropped; NaN: it is not. */
  #deafSinceMs = Number.NaN;

  constructor(link: NatsLink, subject: string, nowMs: () => number) {
    this.subject = subject;
    this.#link = link;
    this.#nowMs = nowMs;
  }

  /** Whether the server has refused it, and not granted it since. */
  get refused(): boolean {
    const errors = this.#link.counters.permissionErrors;
    if (errors > this.#errors) {
      this.#errors = errors;
      this.#isRefused = true;
      this.#isAsked = false;
    }
    return this.#isRefused;
  }

  /** Whether all that came lately was too late; to be asked at each tick. */
  get deaf(): boolean {
    const nowMs = this.#nowMs();
    const dropped = this.#link.counters.droppedLate;
    if (this.#delivered > this.#deliveredBefore) this.#deafSinceMs = Number.NaN;
    else if (dropped > this.#droppedBefore) {
      this.#droppedAtMs = nowMs;
      if (Number.isNaN(this.#deafSinceMs)) this.#deafSinceMs = nowMs;
    } else if (nowMs - this.#droppedAtMs > deafMs) this.#deafSinceMs = Number.NaN;
    this.#deliveredBefore = this.#delivered;
    this.#droppedBefore = dropped;
    return nowMs - this.#deafSinceMs > deafMs;
  }

  /** Whether frames would come now if there were any; to be asked at each tick. */
  get connected(): boolean {
    const { refused, deaf } = this;
    return this.#link.connected && !refused && !deaf;
  }

  /** What only an operator can mend; `undefined` when nothing. */
  get problem(): string | undefined {
    if (this.refused) return `NATS refuses the subscription to ${this.subject}`;
    return this.deaf ? 'too slow: all that comes from NATS has waited too long' : undefined;
  }

  start(onFrame: FrameHandler): void {
    if (this.#onFrame !== undefined) return;
    this.#onFrame = onFrame;
    this.#subscribe();
    this.#unwatch = this.#link.onState((connected) => {
      // Asked for again by the link, before any answer.
      if (connected && this.refused) this.#isRefused = false;
    });
    this.#timer = setInterval(() => this.#retry(), retryMs);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#unwatch?.();
    await this.#source?.close();
  }

  #subscribe(): void {
    this.#source = natsSource(this.#link, this.subject);
    this.#source.start((frame, waitedMs) => {
      this.#delivered++;
      this.#onFrame?.(frame, waitedMs);
    });
  }

  #retry(): void {
    if (!this.refused) return;
    if (this.#isAsked) {
      this.#isRefused = false;
      return;
    }
    void this.#source?.close();
    this.#subscribe();
    this.#isAsked = true;
  }
}
