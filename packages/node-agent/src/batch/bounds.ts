/** Bounds of the agent's table and timing, with the reason for each number. */
import { keyframeIntervalMs } from '@leadsman/wire';

export interface BatchBounds {
  /** Shortest distance of two batches, ms; after a longer silence the next goes out at once. */
  windowMs: number;
  /** Distance of keyframes, ms. */
  keyframeMs: number;
  /** A target whose sender has been silent for this long is forgotten, ms. */
  expireMs: number;
  /** Targets at once. */
  targetsMax: number;
  /** Distance of tries while the sink takes nothing, ms. */
  retryMs: number;
}

export const batchBoundsDefault: BatchBounds = {
  // A tenth of the freshness budget of 75 ms, and at most 100 messages per second and node.
  windowMs: 10,
  keyframeMs: keyframeIntervalMs,
  // Sidecars repeat themselves each second: five silent seconds mean that one is gone or moved.
  expireMs: 5_000,
  // Kubernetes runs at most some 250 pods on a node; a pod has at most 8 serving ports.
  targetsMax: 2_048,
  // Well below the second in which a view must be complete after a broker's return.
  retryMs: 50,
};
