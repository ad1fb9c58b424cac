/** Bounds of the agent's table and timing, with the reason for each number. */
import { keyframeIntervalMs } from '@leadsman/wire';

export interface BatchBounds {
  /** Shortest distance of two batches, and longest time that a report waits for others, ms. */
  windowMs: number;
  /** A batch leaves when no report has come for this long, ms. */
  quietMs: number;
  /** Longest distance of keyframes, ms. */
  keyframeMs: number;
  /** A batch that leaves at most this long before a keyframe is due is one, ms. */
  keyframeEarlyMs: number;
  /** A target whose sender has been silent for this long is forgotten, ms. */
  expireMs: number;
  /** Targets at once. */
  targetsMax: number;
  /** Of them, those of one peer address. */
  targetsPerAddressMax: number;
  /** Distance of tries while the sink takes nothing, ms. */
  retryMs: number;
}

export const batchBoundsDefault: BatchBounds = {
  // A tenth of the freshness budget of 75 ms, and at most 100 messages per second and node.
  windowMs: 10,
  // The sidecars of a node scrape together (their grid), and their reports come within a few
  // milliseconds: a gap of this length means that those which were to come have come.
  quietMs: 3,
  keyframeMs: keyframeIntervalMs,
  // One scrape interval: a keyframe then costs no message of its own.
  keyframeEarlyMs: 50,
  // Sidecars repeat themselves each second: five silent seconds mean that one is gone or moved.
  expireMs: 5_000,
  // Kubernetes runs at most some 250 pods on a node; a pod has at most 8 serving ports.
  targetsMax: 2_048,
  // One pod that makes up identities must not take the others' room. Pods on the host's network
  // share its address: this is enough for 32 of them with 8 ports each.
  targetsPerAddressMax: 256,
  // Well below the second in which a view must be complete after a broker's return.
  retryMs: 50,
};
