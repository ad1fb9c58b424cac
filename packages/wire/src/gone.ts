/**
 * A target that its sender will not report again: the pod ended, or the sender was told to stop.
 * Only a hint: without it the target expires by age. Nothing but a head (record-head.ts), whose
 * position is at or above the `seq` of the last report.
 */
import { podKeyBytes } from './pod-key.ts';
import {
  checkRecordHead,
  recordEpochAt,
  recordHead,
  recordPortAt,
  recordPositionAt,
  writeRecordHead,
} from './record-head.ts';

const goneBytes = recordHead.bytes;

export interface Gone {
  podKey: Uint8Array;
  port: number;
  epoch: number;
  seq: number;
}

/** Encodes a gone record. Throws WireError `bounds`. */
export function encodeGone(value: Gone): Uint8Array {
  const bytes = new Uint8Array(goneBytes);
  writeRecordHead({ ...value, position: value.seq }, new DataView(bytes.buffer));
  return bytes;
}

/** Reads a gone record. Throws WireError. */
export function decodeGone(bytes: Uint8Array): Gone {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  checkRecordHead(view, 0, bytes.length);
  return {
    podKey: bytes.slice(0, podKeyBytes),
    port: recordPortAt(view, 0),
    epoch: recordEpochAt(view, 0),
    seq: recordPositionAt(view, 0),
  };
}
