/**
 * The subscription to all senders' frames, and whether the server grants it. A user who may connect
 * but not subscribe hears nobody: that must not look like an empty cluster.
 *
 * ```
 *   asked ──error of permissions──> refused ──every retryMs──> asked
 *     └──none for retryMs──> granted
 * ```
 *
 * The link asks again on each connection; between them this asks, as an account's permissions are
 * usually mended under living connections. The link of a view is used for nothing else, so every
 * error of permissions on it is about this.
 */
import type { FrameHandler, FrameSource, NatsLink } from '@leadsman/link';

const retryMsDefault = 5_000;

export class FramesSubscription implements FrameSource {
  readonly subject: string;
  readonly #link: NatsLink;
  readonly #retryMs: number;
  #onFrame: FrameHandler | undefined;
  #undo: (() => void) | undefined;
  #unwatch: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #errors = 0;
  #isRefused = false;
  #isAsked = false;

  constructor(link: NatsLink, subject: string, retryMs: number = retryMsDefault) {
    this.subject = subject;
    this.#link = link;
    this.#retryMs = retryMs;
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

  /** Whether frames would come now if there were any. */
  get connected(): boolean {
    return this.#link.connected && !this.refused;
  }

  start(onFrame: FrameHandler): void {
    if (this.#onFrame !== undefined) return;
    this.#onFrame = onFrame;
    this.#subscribe();
    this.#unwatch = this.#link.onState((connected) => {
      // Asked for again by the link, before any answer.
      if (connected && this.refused) this.#isRefused = false;
    });
    this.#timer = setInterval(() => this.#retry(), this.#retryMs);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#unwatch?.();
    this.#undo?.();
  }

  #subscribe(): void {
    this.#undo = this.#link.subscribe(this.subject, (bytes) =>
      this.#onFrame?.(bytes, this.#link.lagMs),
    );
  }

  #retry(): void {
    if (!this.refused) return;
    if (this.#isAsked) {
      this.#isRefused = false;
      return;
    }
    this.#undo?.();
    this.#subscribe();
    this.#isAsked = true;
  }
}
