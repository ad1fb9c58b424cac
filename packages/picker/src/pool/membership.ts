/**
 * Where pools and their members come from: Kubernetes, a file, or the fleet view itself.
 *
 * A source lives in the main thread. It tells of each change with the pool's whole list, and
 * nothing on the request path ever waits for it: when it is cut off, the last lists stay.
 */
import type { PoolMembers } from '@leadsman/scheduling/endpoint';

export interface MembershipListener {
  /** A pool is new or has changed. */
  poolChanged(members: PoolMembers): void;
  /** A pool is no longer served by this picker. */
  poolRemoved(pool: string): void;
}

export interface MembershipSource {
  /** Starts in the background; never throws because a server is away. */
  start(listener: MembershipListener): void;
  /** `undefined` once every pool has been read at least once, else what is missing. */
  notSynced(): string | undefined;
  /** What the source itself can say to people: its watches, the pools it leaves to others. */
  state?(): object;
  stop(): Promise<void>;
}
