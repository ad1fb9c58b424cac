/** What the batcher counts, and the metrics that show it. */
import { type Counted, type CounterList, zeroes } from '@leadsman/service/counter-list';

const refused = ['refused_frames_total', 'Frames refused whole, by why.'] as const;

export const batchCounterList = {
  frames: ['frames_total', 'Frames taken from sidecars.'],
  reports: ['reports_total', 'Reports in them.'],
  /** Repetitions, and late ones. */
  repeated: ['repeated_records_total', 'Records not newer than what was known.'],
  collapsed: ['collapsed_records_total', 'Records replaced by a newer one before being sent.'],
  refusedFrames: [...refused, 'bad_frame'],
  refusedPeers: [...refused, 'wrong_peer'],
  /** They spoke of a pod which is not on this node. */
  refusedForeign: [...refused, 'foreign_pod'],
  refusedTargets: [...refused, 'full'],
  /** They came right after this process had stood still. */
  refusedStalled: [...refused, 'stalled'],
  expiredTargets: ['expired_targets_total', 'Targets forgotten, as their senders fell silent.'],
  batches: ['batches_total', 'Frames sent on.'],
  batchBytes: ['batch_bytes_total', 'Bytes of the frames sent on.'],
  batchReports: ['batch_reports_total', 'Reports in the frames sent on.'],
  keyframes: ['keyframes_total', 'Keyframes sent on.'],
  unsent: ['unsent_batches_total', 'Frames that could not leave; their content waits.'],
  oversized: ['oversized_records_total', 'Records larger than what the way onward takes.'],
} as const satisfies CounterList;

export type BatchCounters = Counted<typeof batchCounterList>;

export const createBatchCounters = (): BatchCounters => zeroes(batchCounterList);
