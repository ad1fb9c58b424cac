/**
 * What the ingest counts: plain numbers, as they change once per record. They are copied whole to
 * whoever exports them, also across processes. The list says how each is shown; those of one name
 * are one metric, told apart by what became of a report.
 */
import { type Counted, type CounterList, zeroes } from '@leadsman/service/counter-list';
import { type WireErrorCode, wireErrorCode } from '@leadsman/wire';

const reports = ['reports_total', 'Reports received, by what became of them.'] as const;

export const ingestCounterList = {
  frames: ['frames_total', 'Frames received.'],
  frameBytes: ['frame_bytes_total', 'Bytes of frames received.'],
  duplicateFrames: ['frames_duplicate_total', 'Frames whose number was seen before.'],
  reorderedFrames: ['frames_reordered_total', 'Frames that came after a later one.'],
  frameGaps: ['frame_gaps_total', 'Times that frame numbers of a sender were skipped.'],
  /** Those that come later are reordered. */
  missingFrames: ['frames_missing_total', 'Frame numbers skipped.'],
  keyframes: ['keyframes_total', 'Keyframes that came whole.'],
  incompleteKeyframes: ['keyframes_incomplete_total', 'Keyframes with a part lost or late.'],
  /** Applied, but not checked for gaps. */
  untrackedFrames: ['frames_untracked_total', 'Frames of senders beyond the bound.'],
  unknownRecords: ['records_unknown_total', 'Records of types this version does not know.'],
  appliedAttributes: ['attributes_applied_total', 'Attributes that changed.'],
  badAttributes: ['attributes_bad_total', 'Attributes that are no text.'],
  goneEndpoints: ['endpoints_gone_total', 'Endpoints withdrawn by their sender.'],
  expiredEndpoints: ['endpoints_expired_total', 'Endpoints that fell silent.'],
  /** Of the applied reports. */
  takeoverReports: ['epoch_takeovers_total', 'Lower epochs accepted after silence.'],
  /** What arrived next was older than it looked. */
  stalls: ['stalls_total', 'Times the collector stood still.'],
  appliedReports: [...reports, 'applied'],
  duplicateReports: [...reports, 'duplicate'],
  olderReports: [...reports, 'older'],
  /** Of an endpoint that reports from another address. */
  foreignReports: [...reports, 'foreign'],
  /** Not newer than what was withdrawn or expired. */
  withdrawnReports: [...reports, 'withdrawn'],
  /** Of an unknown endpoint, with numbers older than the expiry. */
  expiredReports: [...reports, 'expired'],
  /** Of an unknown endpoint, when every slot was taken. */
  fullReports: [...reports, 'full'],
} as const satisfies CounterList;

export interface IngestCounters extends Counted<typeof ingestCounterList> {
  /** Frames refused whole, by the codec's reason; nothing of them was applied. */
  badFrames: Record<WireErrorCode, number>;
}

export function createIngestCounters(): IngestCounters {
  const badFrames = {} as Record<WireErrorCode, number>;
  for (const code of Object.values(wireErrorCode)) badFrames[code] = 0;
  return { ...zeroes(ingestCounterList), badFrames };
}
