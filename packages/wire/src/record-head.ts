/**
 * What records that describe a target (attributes, ranks, gone) begin with.
 *
 * ```
 *   0 16 B pod key   16 u16 serving port   18 6 B of the record's own
 *  24 f64 epoch      32 f64 position: a sequence, or a revision
 * ```
 */
import { WireError, wireErrorCode } from './error.ts';
import { counterMax } from './limits.ts';
import { podKeyBytes } from './pod-key.ts';

export const recordHead = { podKey: 0, port: 16, epoch: 24, position: 32, bytes: 40 } as const;

export interface RecordHead {
  podKey: Uint8Array;
  port: number;
  epoch: number;
  position: number;
}

/** Throws {@link WireError} when the record at `offset` has no sound head. */
export function checkRecordHead(view: DataView, offset: number, length: number): void {
  if (length < recordHead.bytes) throw new WireError(wireErrorCode.truncated, 'record too short');
  if (recordPortAt(view, offset) === 0) throw new WireError(wireErrorCode.bounds, 'port');
  mustCount(recordEpochAt(view, offset));
  mustCount(recordPositionAt(view, offset));
}

/** Throws {@link WireError} when a value is out of bounds; then nothing usable was written. */
export function writeRecordHead(head: RecordHead, view: DataView): void {
  const { podKey, port, epoch, position } = head;
  if (podKey.length !== podKeyBytes) throw new WireError(wireErrorCode.bounds, 'pod key');
  if (!(port > 0 && port <= 0xffff)) throw new WireError(wireErrorCode.bounds, 'port');
  mustCount(epoch);
  mustCount(position);
  new Uint8Array(view.buffer, view.byteOffset).set(podKey, recordHead.podKey);
  view.setUint16(recordHead.port, port, true);
  view.setFloat64(recordHead.epoch, epoch, true);
  view.setFloat64(recordHead.position, position, true);
}

export function recordPortAt(view: DataView, offset: number): number {
  return view.getUint16(offset + recordHead.port, true);
}

export function recordEpochAt(view: DataView, offset: number): number {
  return view.getFloat64(offset + recordHead.epoch, true);
}

export function recordPositionAt(view: DataView, offset: number): number {
  return view.getFloat64(offset + recordHead.position, true);
}

function mustCount(value: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= counterMax) return;
  throw new WireError(wireErrorCode.bounds, 'epoch or position');
}
