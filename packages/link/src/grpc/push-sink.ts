/**
 * Direct transport, sender's side: the same frames to every collector replica.
 *
 * Targets are resolved again and again; a replica that appears gets a stream, and is complete
 * with the sender's next keyframe; one that left the answer loses its stream after a grace, as a
 * name server that fails for a moment must not cut what works.
 */
import { Backoff } from '@leadsman/service/backoff';
import { frameBytesMax } from '@leadsman/wire';
import type { FrameSink } from '../frame-port.ts';
import type { LinkLogger } from '../nats/options.ts';
import { createPushCounters, type PushCounters } from './push-counters.ts';
import { type PushBounds, PushPeer } from './push-peer.ts';
import { type LookupAll, lookupAll, parseHostPort, type Replica, resolveHosts } from './resolve.ts';
import { ClientTls, type CollectorAccess } from './tls.ts';

export interface GrpcSinkOptions {
  /** `host:port` of collectors, each possibly many replicas. */
  targets: readonly string[];
  tls?: CollectorAccess;
  logger?: LinkLogger;
  random?: () => number;
  nowMs?: () => number;
  lookupHost?: LookupAll;
  /** Distance of two resolutions, ms. */
  resolveEveryMs?: number;
  bounds?: Partial<PushBounds>;
}

export interface GrpcSink extends FrameSink {
  readonly counters: Readonly<PushCounters>;
  /** Replicas that answer now. */
  readonly openPeers: number;
  readonly peers: number;
}

/** Collectors are replicated for availability, by two or three; more is a wrong name. */
export const peersMax = 32;

const boundsDefault: PushBounds = { lateMs: 750, deadMs: 5_000, pendingBytesMax: 4_194_304 };
const retry = { firstMs: 50, maxMs: 1_000 };
/** Resolutions in a row that must miss a replica before its stream ends. */
const missesMax = 3;

/** Returns at once; connects in the background. Throws RangeError on a malformed target. */
export function grpcSink(options: GrpcSinkOptions): GrpcSink {
  return new PushSink(options);
}

interface Known {
  peer: PushPeer;
  misses: number;
}

class PushSink implements GrpcSink {
  readonly frameBytesMax = frameBytesMax;
  readonly counters: PushCounters = createPushCounters();
  readonly #options: GrpcSinkOptions;
  readonly #targets;
  readonly #tls: ClientTls;
  readonly #known = new Map<string, Known>();
  #timer: NodeJS.Timeout | undefined;
  #openPeers = 0;
  #closed = false;

  constructor(options: GrpcSinkOptions) {
    this.#options = options;
    this.#tls = new ClientTls(options.tls, options.logger);
    this.#targets = options.targets.map(parseHostPort);
    void this.#resolve();
  }

  get connected(): boolean {
    return this.#openPeers > 0;
  }

  get openPeers(): number {
    return this.#openPeers;
  }

  get peers(): number {
    return this.#known.size;
  }

  /** `true` when at least one replica was sent to; the others have the next keyframe. */
  send(frame: Uint8Array): boolean {
    let sent = false;
    for (const { peer } of this.#known.values()) sent = peer.send(frame) || sent;
    if (this.#known.size === 0) this.counters.droppedOffline++;
    return sent;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const peers = [...this.#known.values()];
    this.#known.clear();
    this.#openPeers = 0;
    await Promise.all(peers.map(({ peer }) => peer.close()));
  }

  async #resolve(): Promise<void> {
    const { replicas, failed } = await resolveHosts(
      this.#targets,
      this.#options.lookupHost ?? lookupAll,
    );
    if (this.#closed) return;
    if (failed.length > 0) this.#options.logger?.warn({ failed }, 'collector name not resolved');
    for (const replica of replicas.values()) {
      const known = this.#known.get(replica.address);
      if (known !== undefined) known.misses = 0;
      else if (this.#known.size < peersMax) this.#add(replica);
    }
    for (const [address, known] of this.#known) {
      if (replicas.has(address) || failed.length > 0) continue;
      known.misses++;
      // A stream that still works is the better witness than the name server.
      if (known.misses < missesMax || known.peer.open) continue;
      void known.peer.close();
      this.#known.delete(address);
    }
    const everyMs = this.#known.size === 0 ? 500 : (this.#options.resolveEveryMs ?? 5_000);
    this.#timer = setTimeout(() => void this.#resolve(), everyMs);
  }

  #add(replica: Replica): void {
    const { address, serverName } = replica;
    const peer = new PushPeer({
      address,
      serverName,
      tls: this.#tls,
      backoff: new Backoff({ ...retry, random: this.#options.random ?? Math.random }),
      bounds: { ...boundsDefault, ...this.#options.bounds },
      counters: this.counters,
      nowMs: this.#options.nowMs ?? (() => performance.now()),
      onEnd: (reason) => this.#options.logger?.warn({ address, reason }, 'collector is away'),
      onState: () => {
        this.#openPeers = 0;
        for (const known of this.#known.values()) if (known.peer.open) this.#openPeers++;
      },
    });
    this.#known.set(address, { peer, misses: 0 });
  }
}
