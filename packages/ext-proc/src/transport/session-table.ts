/**
 * The open connections of a worker: how many there may be, how long they may idle, whether their
 * peers still live, and how they are sent away at the end.
 *
 * A gateway whose machine is gone closes nothing, and while we wait for its messages nothing of
 * ours is under way that could fail: only a PING tells, and without one its calls would be counted
 * as in flight for ever.
 *
 * When all places are taken, a new connection gets that of the longest idle one of the address that
 * has most of them, unless the newcomer's address is that one: nobody can keep the others out.
 *
 * Drain of a connection, so that no call is lost in between:
 *   1. GOAWAY naming the largest stream id: the peer opens new calls elsewhere, but whatever it has
 *      already sent is still served;
 *   2. PING: its answer proves that the peer has read the GOAWAY;
 *   3. `close()`: the final GOAWAY; the connection ends with its last open call.
 */
import { constants, type Http2Session } from 'node:http2';
import { Counter, type Counters } from '../counters.ts';
import { sweepIntervalMs, type TransportLimits } from './limits.ts';

const lastStreamId = 0x7fffffff;

interface Entry {
  readonly address: string;
  openedAtMs: number;
  /** When its last call ended. */
  idleSinceMs: number;
  calls: number;
  /** The peer's SETTINGS have come: it does speak HTTP/2. */
  ready: boolean;
  /**
   * How long the peer has not been asked, or has not answered, ms. Added up by sweeps and not read
   * from a clock: while this thread stood still, no answer could have been seen.
   */
  quietMs: number;
  asked: boolean;
}

export class SessionTable {
  readonly #limits: TransportLimits;
  readonly #counters: Counters;
  readonly #nowMs: () => number;
  readonly #sessions = new Map<Http2Session, Entry>();
  /** Connections by the peer's address. */
  readonly #perAddress = new Map<string, number>();
  #draining = false;

  constructor(limits: TransportLimits, counters: Counters, nowMs: () => number) {
    this.#limits = limits;
    this.#counters = counters;
    this.#nowMs = nowMs;
  }

  get count(): number {
    return this.#sessions.size;
  }

  /** Takes a new connection in, or destroys it and returns false when there are too many. */
  add(session: Http2Session): boolean {
    session.on('error', () => this.#counters.add(Counter.session_errors));
    const address = session.socket?.remoteAddress ?? '';
    if (this.#sessions.size >= this.#limits.connectionsMax && !this.#makeRoom(address)) {
      this.#counters.add(Counter.sessions_refused);
      session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
      return false;
    }
    const now = this.#nowMs();
    const entry: Entry = {
      address,
      openedAtMs: now,
      idleSinceMs: now,
      calls: 0,
      ready: false,
      quietMs: 0,
      asked: false,
    };
    this.#sessions.set(session, entry);
    this.#perAddress.set(address, (this.#perAddress.get(address) ?? 0) + 1);
    this.#counters.add(Counter.sessions_opened);
    session.once('remoteSettings', () => {
      entry.ready = true;
    });
    session.once('close', () => {
      this.#forget(session, entry);
    });
    if (this.#draining) drainSession(session);
    return true;
  }

  /**
   * Ends connections that never finished their handshake, had no call for long, or whose peer is
   * gone. Call it every `sweepIntervalMs`.
   */
  sweep(): void {
    const now = this.#nowMs();
    const { handshakeTimeoutMs, idleConnectionTimeoutMs } = this.#limits;
    for (const [session, entry] of this.#sessions) {
      if (entry.ready && this.#isDead(session, entry)) {
        this.#counters.add(Counter.sessions_dead);
        session.destroy(undefined, constants.NGHTTP2_NO_ERROR);
        continue;
      }
      if (entry.calls > 0) continue;
      const handshaking = !entry.ready && now - entry.openedAtMs > handshakeTimeoutMs;
      if (handshaking || now - entry.idleSinceMs > idleConnectionTimeoutMs) {
        this.#counters.add(Counter.sessions_timed_out);
        session.destroy(undefined, constants.NGHTTP2_NO_ERROR);
      }
    }
  }

  /** Ends the longest idle connection of the address that has most, for one of `newcomer`. */
  #makeRoom(newcomer: string): boolean {
    let most = newcomer;
    for (const [address, count] of this.#perAddress) {
      if (count > (this.#perAddress.get(most) ?? 0)) most = address;
    }
    if (most === newcomer) return false;
    let idlest: Http2Session | undefined;
    let idleSinceMs = Number.POSITIVE_INFINITY;
    for (const [session, { address, calls, idleSinceMs: since }] of this.#sessions) {
      if (address !== most || calls > 0 || since >= idleSinceMs) continue;
      idlest = session;
      idleSinceMs = since;
    }
    if (idlest === undefined) return false;
    this.#counters.add(Counter.sessions_displaced);
    // Its `close` comes later, and its place is needed now.
    this.#forget(idlest, this.#sessions.get(idlest)!);
    idlest.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
    return true;
  }

  #forget(session: Http2Session, { address }: Entry): void {
    if (!this.#sessions.delete(session)) return;
    this.#counters.add(Counter.sessions_closed);
    const left = this.#perAddress.get(address)! - 1;
    if (left > 0) this.#perAddress.set(address, left);
    else this.#perAddress.delete(address);
  }

  #isDead(session: Http2Session, entry: Entry): boolean {
    entry.quietMs += sweepIntervalMs;
    if (entry.asked) return entry.quietMs > this.#limits.pingTimeoutMs;
    if (entry.quietMs < this.#limits.pingIntervalMs || session.destroyed) return false;
    entry.quietMs = 0;
    entry.asked = session.ping(() => {
      entry.asked = false;
      entry.quietMs = 0;
    });
    return false;
  }

  /** A call began on the connection. */
  callOpened(session: Http2Session): void {
    const entry = this.#sessions.get(session);
    if (entry !== undefined) entry.calls++;
  }

  /** A call of the connection ended. */
  callClosed(session: Http2Session): void {
    const entry = this.#sessions.get(session);
    if (entry === undefined) return;
    entry.calls--;
    entry.idleSinceMs = this.#nowMs();
  }

  drain(): void {
    this.#draining = true;
    for (const session of this.#sessions.keys()) drainSession(session);
  }

  destroyAll(): void {
    for (const session of this.#sessions.keys()) session.destroy();
  }
}

function drainSession(session: Http2Session): void {
  if (session.destroyed || session.closed) return;
  session.goaway(constants.NGHTTP2_NO_ERROR, lastStreamId);
  const asked = session.ping(() => {
    if (!session.destroyed) session.close();
  });
  if (!asked) session.close();
}
