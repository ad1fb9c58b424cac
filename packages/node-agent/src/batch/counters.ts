/** What the batcher counts; metrics read it. */
export interface BatchCounters {
  frames: number;
  reports: number;
  /** Records that were not newer than what is held: repetitions, and late ones. */
  repeated: number;
  /** Records that replaced one which had not been sent yet. */
  collapsed: number;
  refusedFrames: number;
  refusedPeers: number;
  /** Frames that spoke of a pod which is not on this node. */
  refusedForeign: number;
  /** Targets for which there was no room. */
  refusedTargets: number;
  /** Frames that came right after this process had stood still. */
  refusedStalled: number;
  expiredTargets: number;
  batches: number;
  batchBytes: number;
  batchReports: number;
  keyframes: number;
  /** Frames the sink did not take; what is in them waits. */
  unsent: number;
  /** Records larger than what the sink takes at all. */
  oversized: number;
}

export function createBatchCounters(): BatchCounters {
  return {
    frames: 0,
    reports: 0,
    repeated: 0,
    collapsed: 0,
    refusedFrames: 0,
    refusedPeers: 0,
    refusedForeign: 0,
    refusedTargets: 0,
    refusedStalled: 0,
    expiredTargets: 0,
    batches: 0,
    batchBytes: 0,
    batchReports: 0,
    keyframes: 0,
    unsent: 0,
    oversized: 0,
  };
}
