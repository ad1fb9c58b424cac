/**
 * A target that its sender will not report again: the pod ended, or the sender was told to stop.
 * Only a hint: without it the target expires by age.
 *
 * ```
 *   0 16 B pod key   16 u16 serving port   18 6 B reserved (0)
 *  24 f64 epoch      32 f64 seq, at or above that of the last report
 * ```
 */
import { WireError, wireErrorCode } from './error.ts';
import { counterMax } from './limits.ts';
import { podKeyBytes } from './pod-key.ts';

export const goneBytes = 40;

export interface Gone {
  podKey: Uint8Array;
  port: number;
  epoch: number;
  seq: number;
}

/** Encodes a gone record. Throws {@link WireError} `bounds`. */
export function encodeGone(value: Gone): Uint8Array {
  if (value.podKey.length !== podKeyBytes) throw new WireError(wireErrorCode.bounds, 'pod key');
  const bytes = new Uint8Array(goneBytes);
  const view = new DataView(bytes.buffer);
  bytes.set(value.podKey, 0);
  view.setUint16(16, value.port, true);
  view.setFloat64(24, value.epoch, true);
  view.setFloat64(32, value.seq, true);
  checkGone(view, 0, goneBytes);
  return bytes;
}

/** Checks a gone record of `length` bytes at `offset`. Throws {@link WireError}. */
export function checkGone(view: DataView, offset: number, length: number): void {
  if (length < goneBytes) throw new WireError(wireErrorCode.truncated, 'gone record too short');
  if (view.getUint16(offset + 16, true) === 0) throw new WireError(wireErrorCode.bounds, 'port');
  for (const at of [24, 32]) {
    const value = view.getFloat64(offset + at, true);
    if (!Number.isInteger(value) || value < 1 || value > counterMax) {
      throw new WireError(wireErrorCode.bounds, 'epoch or seq');
    }
  }
}

/** Reads a gone record. Throws {@link WireError}. */
export function decodeGone(bytes: Uint8Array): Gone {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  checkGone(view, 0, bytes.length);
  return {
    podKey: bytes.slice(0, podKeyBytes),
    port: view.getUint16(16, true),
    epoch: view.getFloat64(24, true),
    seq: view.getFloat64(32, true),
  };
}
