/**
 * Keeps the sidecar's own transport open while it is wanted, and for a grace after that.
 *
 * ```
 *   closed ──want──> opening ──> open ──unwant──> lingering ──grace──> closed
 *                                  ^────── want ──────┘
 * ```
 *
 * The grace makes an agent that restarts cost no reconnect storm: a rolling update of a thousand
 * agents would otherwise open and close a connection per pod.
 */
import type { Registry } from 'prom-client';
import type { Transport, TransportOpener } from './transport.ts';

export interface DirectPublishingOptions {
  open: TransportOpener;
  /** How long an unwanted transport stays open, ms. */
  graceMs: number;
  /** The transport has just become usable: what is known should be sent again. */
  onReady: () => void;
  onError: (error: unknown) => void;
}

/** Distance of attempts to open (load the code, read files), ms; connecting is the link's matter. */
const reopenMs = 1_000;

export class DirectPublishing {
  readonly #options: DirectPublishingOptions;
  #wanted = false;
  #transport: Transport | undefined;
  #opening: Promise<void> | undefined;
  #closeTimer: NodeJS.Timeout | undefined;
  #reopenTimer: NodeJS.Timeout | undefined;
  #wasConnected = false;
  #closed = false;

  constructor(options: DirectPublishingOptions) {
    this.#options = options;
  }

  /** `nats` or `direct` while a transport is open. */
  get kind(): string | undefined {
    return this.#transport?.kind;
  }

  /** Registers the metrics of an open transport. */
  async register(registry: Registry): Promise<void> {
    await this.#transport?.register(registry);
  }

  get connected(): boolean {
    return this.#transport?.sink.connected ?? false;
  }

  get frameBytesMax(): number {
    return this.#transport?.sink.frameBytesMax ?? Number.POSITIVE_INFINITY;
  }

  want(): void {
    if (this.#closed) return;
    this.#wanted = true;
    clearTimeout(this.#closeTimer);
    this.#closeTimer = undefined;
    if (this.#transport === undefined) this.#opening ??= this.#open();
  }

  /** Closes the transport after the grace, unless it is wanted again. */
  unwant(): void {
    if (!this.#wanted) return;
    this.#wanted = false;
    this.#closeTimer ??= setTimeout(() => {
      this.#closeTimer = undefined;
      void this.#release();
    }, this.#options.graceMs);
  }

  /** Sends if the transport is up; `false` when the frame did not leave. */
  send(frame: Uint8Array): boolean {
    const sink = this.#transport?.sink;
    if (sink === undefined) return false;
    const sent = sink.send(frame);
    // Not every transport tells when it connects; the first frame that leaves does.
    if (sent && !this.#wasConnected) {
      this.#wasConnected = true;
      queueMicrotask(() => this.#options.onReady());
    }
    if (!sent) this.#wasConnected = false;
    return sent;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#wanted = false;
    clearTimeout(this.#closeTimer);
    clearTimeout(this.#reopenTimer);
    await this.#opening;
    await this.#release();
  }

  async #open(): Promise<void> {
    try {
      const transport = await this.#options.open(() => {
        this.#wasConnected = true;
        this.#options.onReady();
      });
      this.#wasConnected = false;
      this.#transport = transport;
      if (!this.#wanted && !this.#closed) await this.#release();
    } catch (error) {
      this.#options.onError(error);
      this.#reopenTimer = setTimeout(() => {
        if (this.#wanted) this.want();
      }, reopenMs);
    } finally {
      this.#opening = undefined;
    }
  }

  async #release(): Promise<void> {
    const transport = this.#transport;
    if (transport === undefined || this.#wanted) return;
    this.#transport = undefined;
    await transport.close();
  }
}
