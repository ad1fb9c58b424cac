/** Who a target is, and the clocks it needs. */

export interface TargetIdentity {
  podUid: string;
  podName: string;
  namespace: string;
  nodeName: string;
  /** Address of the pod, the one requests are sent to. */
  address: string;
  /** Serving port: with the pod's UID the identity of the endpoint. */
  port: number;
  /** Position of the port among the pod's serving ports. */
  rank: number;
  reporter: 'sidecar' | 'agent';
  /** Where the page is, for people: a port, or a URL when it is not the pod's own. */
  metricsPort: string;
}

export interface Clock {
  /** Monotonic, ms. */
  nowMs(): number;
  /** Unix time, ms: only for epochs. */
  unixMs(): number;
}
