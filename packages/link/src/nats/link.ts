/**
 * A process's one connection to NATS, kept up in the background for as long as the process runs.
 *
 * ```
 *   dialling ──connected──> serving ──closed, dead or lame duck──> waiting ──backoff──> dialling
 *       └──────failed──────────────────────────────────────────────────^
 * ```
 *
 * Each attempt is a fresh client (the library's own reconnecting is off): so credentials and TLS
 * files are read anew, nothing that was published while offline is kept for later, and there is
 * never more than one socket. Subscriptions are made again on each connection.
 *
 * Lag (see lag.ts) bounds both directions: a stalled server is published to for at most
 * `lateMs`, and a receiver that fell behind drops what waited longer, which costs next to nothing
 * per message, until it has caught up. So newest wins, and memory stays flat.
 *
 * Cost: per publish one clock reading and the library's copy into its outbound buffer; per
 * received message one clock reading.
 */
import { Backoff, pause } from '@leadsman/service/backoff';
import { frameBytesMax } from '@leadsman/wire';
import { errors, type NatsConnection } from '@nats-io/transport-node';
import { Connector } from './connector.ts';
import { createNatsCounters, type NatsCounters } from './counters.ts';
import { CredentialsError } from './credentials.ts';
import { LagMeter } from './lag.ts';
import {
  type LinkLogger,
  type NatsBounds,
  type NatsOptions,
  natsBoundsDefault,
} from './options.ts';
import { type MessageHandler, SubscriptionSet } from './subscriptions.ts';

export interface NatsLink {
  readonly connected: boolean;
  /** What the server takes in one message, bytes; our own bound before the first connection. */
  readonly maxPayload: number;
  readonly counters: Readonly<NatsCounters>;
  /** Latest ping's round trip, ms; NaN before the first. */
  readonly roundTripMs: number;
  /** What arrives now is known to have waited for this long, ms; 0 when it came in due time. */
  readonly lagMs: number;
  /**
   * Sends, or returns `false` after counting a drop: offline, stalled, or too large. The bytes
   * are copied. Never throws for the connection's sake.
   */
  publish(subject: string, bytes: Uint8Array): boolean;
  /** Calls `handler` for each message, on this and every later connection; returns the undo. */
  subscribe(subject: string, handler: MessageHandler): () => void;
  /** Calls `listener` on each change of {@link connected}; returns the undo. */
  onState(listener: (connected: boolean) => void): () => void;
  /** Sends what is under way (at most a second), then ends for good. */
  close(): Promise<void>;
}

/** Returns at once and connects in the background. Throws only if `servers` is empty. */
export function connectNats(options: NatsOptions): NatsLink {
  if (options.servers.length === 0) throw new RangeError('no NATS server is configured');
  return new Link(options);
}

class Link implements NatsLink {
  readonly counters: NatsCounters = createNatsCounters();
  readonly #bounds: NatsBounds;
  readonly #nowMs: () => number;
  readonly #random: () => number;
  readonly #logger: LinkLogger | undefined;
  readonly #subscriptions: SubscriptionSet;
  readonly #listeners = new Set<(connected: boolean) => void>();
  readonly #connector: Connector;
  readonly #loop: Promise<void>;
  readonly #stopping = new AbortController();
  #connection: NatsConnection | undefined;
  #lag = new LagMeter();
  #maxPayload = frameBytesMax;

  constructor(options: NatsOptions) {
    this.#bounds = { ...natsBoundsDefault, ...options.bounds };
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#random = options.random ?? Math.random;
    this.#logger = options.logger;
    this.#subscriptions = new SubscriptionSet({
      admit: (bytes) => this.#admit(bytes),
      handlerFailed: (error, subject) => {
        this.counters.handlerErrors++;
        this.#logger?.warn({ err: error, subject }, 'message handler failed');
      },
      refused: (error, subject) => {
        this.#logger?.warn({ err: error, subject }, 'subscription refused');
      },
    });
    this.#connector = new Connector(options, this.#bounds, this.#random, (sid, subject, payload) =>
      this.#subscriptions.deliver(sid, subject, payload),
    );
    this.#loop = this.#run();
  }

  get connected(): boolean {
    return this.#connection !== undefined;
  }

  get maxPayload(): number {
    return this.#maxPayload;
  }

  get roundTripMs(): number {
    return this.#lag.roundTripMs;
  }

  get lagMs(): number {
    const lagMs = this.#lag.lagMs(this.#nowMs());
    return lagMs < this.#bounds.promptMs ? 0 : lagMs;
  }

  publish(subject: string, bytes: Uint8Array): boolean {
    const connection = this.#connection;
    if (connection === undefined || connection.isClosed()) {
      this.counters.droppedOffline++;
      return false;
    }
    if (bytes.length > this.#maxPayload) {
      this.counters.droppedTooLarge++;
      return false;
    }
    const nowMs = this.#nowMs();
    const lag = this.#lag;
    if (
      lag.lagMs(nowMs) > this.#bounds.lateMs ||
      lag.unconfirmedBytes + bytes.length > this.#bounds.pendingBytesMax
    ) {
      this.counters.droppedStalled++;
      this.#pingWhenDue(connection, nowMs);
      return false;
    }
    connection.publish(subject, bytes);
    lag.published(bytes.length);
    this.counters.published++;
    this.counters.publishedBytes += bytes.length;
    this.#pingWhenDue(connection, nowMs);
    return true;
  }

  subscribe(subject: string, handler: MessageHandler): () => void {
    return this.#subscriptions.add(subject, handler, this.#connection);
  }

  onState(listener: (connected: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { retryFirstMs, retryMaxMs, retryRefusedMaxMs } = this.#bounds;
    const random = this.#random;
    const plain = new Backoff({ firstMs: retryFirstMs, maxMs: retryMaxMs, random });
    const refused = new Backoff({ firstMs: retryFirstMs, maxMs: retryRefusedMaxMs, random });
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      let waitMs = 0;
      try {
        const connection = await this.#connector.connect(signal);
        const beganMs = this.#nowMs();
        const end = await this.#serve(connection);
        // A server that accepts and at once ends is no better than one that refuses.
        if (this.#nowMs() - beganMs > retryMaxMs) {
          plain.reset();
          refused.reset();
        }
        if (signal.aborted) break;
        if (isRefusal(end)) throw end;
        waitMs = plain.next();
        this.#warn(end, waitMs);
      } catch (error) {
        if (signal.aborted) break;
        const refusal = isRefusal(error);
        if (refusal) this.counters.authErrors++;
        else this.counters.connectErrors++;
        waitMs = refusal ? refused.next() : plain.next();
        this.#warn(error, waitMs);
      }
      await pause(waitMs, signal);
    }
  }

  #warn(reason: unknown, waitMs: number): void {
    const fields = { reason: reasonOf(reason), waitMs: Math.round(waitMs) };
    this.#logger?.warn(fields, 'NATS is away');
  }

  /** Keeps one connection until it ends; says why it ended: an error, or words. */
  async #serve(connection: NatsConnection): Promise<Error | string> {
    const { signal } = this.#stopping;
    try {
      this.#began(connection);
    } catch (error) {
      // It ended already, or a listener of ours failed: nobody else would end it.
      this.#connection = undefined;
      await this.#connector.release(connection);
      throw error;
    }
    const stop = Promise.withResolvers<string>();
    const onAbort = () => stop.resolve('this process stops');
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
    const timer = setInterval(() => this.#tick(connection, stop.resolve), this.#bounds.pingEveryMs);
    const watching = this.#watchStatus(connection, stop.resolve);
    const end = await Promise.race([connection.closed(), stop.promise]);
    clearInterval(timer);
    signal.removeEventListener('abort', onAbort);
    this.#ended();
    await this.#connector.release(connection);
    await watching;
    return end ?? 'ended by the server';
  }

  #began(connection: NatsConnection): void {
    if (this.counters.connects > 0) this.counters.reconnects++;
    this.counters.connects++;
    this.#lag = new LagMeter();
    this.#maxPayload = Math.min(frameBytesMax, connection.info?.max_payload ?? frameBytesMax);
    this.#subscriptions.makeAll(connection);
    this.#connection = connection;
    this.#logger?.info({ server: connection.getServer() }, 'connected to NATS');
    for (const listener of this.#listeners) listener(true);
  }

  #ended(): void {
    this.counters.disconnects++;
    this.#connection = undefined;
    for (const listener of this.#listeners) listener(false);
  }

  #tick(connection: NatsConnection, giveUp: (reason: string) => void): void {
    const nowMs = this.#nowMs();
    if (this.#lag.lagMs(nowMs) > this.#bounds.deadMs) giveUp('no answer to a ping');
    else if (this.#subscriptions.size > 0) this.#pingWhenDue(connection, nowMs);
  }

  #pingWhenDue(connection: NatsConnection, nowMs: number): void {
    const lag = this.#lag;
    if (!lag.due(nowMs, this.#bounds.pingEveryMs)) return;
    lag.pinged(nowMs);
    connection.flush().then(
      () => lag.answered(this.#nowMs()),
      // The connection ended, and this meter with it.
      () => undefined,
    );
  }

  #admit(bytes: number): boolean {
    this.counters.received++;
    this.counters.receivedBytes += bytes;
    const nowMs = this.#nowMs();
    // One turn of the event loop may bring 2 MB: with slow handlers the timer alone is too late.
    if (this.#connection !== undefined) this.#pingWhenDue(this.#connection, nowMs);
    if (this.#lag.lagMs(nowMs) <= this.#bounds.lateMs) return true;
    this.counters.droppedLate++;
    return false;
  }

  async #watchStatus(connection: NatsConnection, giveUp: (reason: string) => void): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type === 'ldm') giveUp('the server is about to stop');
      if (status.type !== 'error') continue;
      if (status.error instanceof errors.PermissionViolationError) {
        this.counters.permissionErrors++;
        if (this.counters.permissionErrors === 1) {
          this.#logger?.warn({ err: status.error }, 'NATS refuses a subject');
        }
      }
    }
  }
}

/** Whether it is the credentials that stand in the way. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof errors.AuthorizationError ||
    error instanceof errors.UserAuthenticationExpiredError ||
    error instanceof CredentialsError
  );
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
