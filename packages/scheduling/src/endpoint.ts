/**
 * Who may be picked: the endpoints of each pool, as the membership knows them.
 *
 * An update always carries the whole list of a pool. Lists are immutable and swapped by
 * reference in the workers, so a pick sees one list from begin to end.
 */

/** One address:port that serves requests: a pod, or one data-parallel rank of it. */
export interface Endpoint {
  /**
   * Position in the shared in-flight tables. It is given to another endpoint only after this one
   * has left and all requests sent to it have ended, so a release always meets its own
   * incarnation.
   */
  readonly index: number;
  /** The pod's key as text (see wire/pod-key.ts). */
  readonly podKey: string;
  readonly address: string;
  readonly port: number;
  /** Position of the port among the pool's ports. */
  readonly rank: number;
  /** `address:port` as gateways want it, IPv6 in brackets. */
  readonly destination: string;
  readonly podName: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** A member before it has an index: what a membership source knows. */
export type Member = Omit<Endpoint, 'index' | 'destination'>;

/** All members of one pool, from one source, at one moment. */
export interface PoolMembers {
  /** `namespace/name`, or just a name where there is no Kubernetes. */
  readonly pool: string;
  readonly members: readonly Member[];
  /** Host names (`service.namespace`) by which gateways call the picker for this pool. */
  readonly authorities: readonly string[];
  /** Why there is no endpoint although there are pods, one line each; for people. */
  readonly reasons: readonly string[];
  /** `InferenceObjective` priorities by name; empty where there are none. */
  readonly objectives: Readonly<Record<string, number>>;
}

/** What the workers get. */
export interface PoolUpdate {
  readonly pool: string;
  /** Rises with every update of any pool. */
  readonly version: number;
  readonly authorities: readonly string[];
  readonly objectives: Readonly<Record<string, number>>;
  readonly endpoints: readonly Endpoint[];
}
