/**
 * What the ingest counts: plain numbers, as they change once per record. They are copied whole to
 * whoever exports them, also across threads.
 */
import { type WireErrorCode, wireErrorCode } from '@leadsman/wire';

export interface IngestCounters {
  frames: number;
  frameBytes: number;
  /** Refused whole, by the codec's reason; nothing of them was applied. */
  badFrames: Record<WireErrorCode, number>;
  /** A frame number seen before, from the same sender. */
  duplicateFrames: number;
  /** Arrived after a frame with a higher number. */
  reorderedFrames: number;
  /** Times that numbers were skipped, and how many; those that come later are reordered. */
  frameGaps: number;
  missingFrames: number;
  /** Keyframes of which every part came, and those of which one was lost or late. */
  keyframes: number;
  incompleteKeyframes: number;
  /** Frames of senders beyond the table's bound: applied, but not checked for gaps. */
  untrackedFrames: number;
  unknownRecords: number;
  appliedReports: number;
  /** Of the applied: a lower epoch after silence. */
  takeoverReports: number;
  duplicateReports: number;
  olderReports: number;
  /** Of an endpoint that reports from another address. */
  foreignReports: number;
  /** Not newer than what was withdrawn or expired. */
  withdrawnReports: number;
  /** Of an unknown endpoint, with numbers older than the expiry. */
  expiredReports: number;
  /** Of an unknown endpoint, when every slot was taken. */
  fullReports: number;
  appliedAttributes: number;
  badAttributes: number;
  /** Endpoints withdrawn by their sender. */
  goneEndpoints: number;
  /** Endpoints that fell silent. */
  expiredEndpoints: number;
  /** Times this thread stood still, so that what arrived next was older than it looked. */
  stalls: number;
}

export function createIngestCounters(): IngestCounters {
  const badFrames = {} as Record<WireErrorCode, number>;
  for (const code of Object.values(wireErrorCode)) badFrames[code] = 0;
  return {
    frames: 0,
    frameBytes: 0,
    badFrames,
    duplicateFrames: 0,
    reorderedFrames: 0,
    frameGaps: 0,
    missingFrames: 0,
    keyframes: 0,
    incompleteKeyframes: 0,
    untrackedFrames: 0,
    unknownRecords: 0,
    appliedReports: 0,
    takeoverReports: 0,
    duplicateReports: 0,
    olderReports: 0,
    foreignReports: 0,
    withdrawnReports: 0,
    expiredReports: 0,
    fullReports: 0,
    appliedAttributes: 0,
    badAttributes: 0,
    goneEndpoints: 0,
    expiredEndpoints: 0,
    stalls: 0,
  };
}
