/**
 * The numbers of an engine's data-parallel ranks, sent beside a report when there is more than
 * one. For people and for `explain`; picks use the totals of the report.
 *
 * ```
 *   0 head (record-head.ts), at the seq of the report they belong to; in it
 *  18 u16 ranks   20 u32 reserved (0)
 *  40 ranks × { u32 rank, f32 running, f32 waiting, f32 KV usage ratio }, NaN = unknown
 * ```
 */
import { WireError, wireErrorCode } from './error.ts';
import { ranksMax } from './limits.ts';
import { podKeyBytes } from './pod-key.ts';
import {
  checkRecordHead,
  recordEpochAt,
  recordHead,
  recordPortAt,
  recordPositionAt,
  writeRecordHead,
} from './record-head.ts';

const ranksHeaderBytes = recordHead.bytes;
const rankBytes = 16;

export interface RankNumbers {
  rank: number;
  runningRequests: number;
  waitingRequests: number;
  kvCacheUsageRatio: number;
}

export interface Ranks {
  podKey: Uint8Array;
  port: number;
  epoch: number;
  seq: number;
  ranks: readonly RankNumbers[];
}

/** Encodes at most {@link ranksMax} ranks; more throw {@link WireError} `bounds`. */
export function encodeRanks(value: Ranks): Uint8Array {
  if (value.ranks.length > ranksMax) throw new WireError(wireErrorCode.bounds, 'too many ranks');
  const length = ranksHeaderBytes + value.ranks.length * rankBytes;
  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  writeRecordHead({ ...value, position: value.seq }, view);
  view.setUint16(18, value.ranks.length, true);
  for (const [i, rank] of value.ranks.entries()) {
    const at = ranksHeaderBytes + i * rankBytes;
    view.setUint32(at, rank.rank, true);
    view.setFloat32(at + 4, rank.runningRequests, true);
    view.setFloat32(at + 8, rank.waitingRequests, true);
    view.setFloat32(at + 12, rank.kvCacheUsageRatio, true);
  }
  return bytes;
}

/** Checks a ranks record of `length` bytes at `offset`. Throws {@link WireError}. */
export function checkRanks(view: DataView, offset: number, length: number): void {
  checkRecordHead(view, offset, length);
  const count = view.getUint16(offset + 18, true);
  if (count > ranksMax) throw new WireError(wireErrorCode.bounds, 'too many ranks');
  if (ranksHeaderBytes + count * rankBytes > length) {
    throw new WireError(wireErrorCode.truncated, 'ranks too short');
  }
}

/** Reads a ranks record. Throws {@link WireError}. */
export function decodeRanks(bytes: Uint8Array): Ranks {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  checkRanks(view, 0, bytes.length);
  const ranks: RankNumbers[] = [];
  for (let i = 0; i < view.getUint16(18, true); i++) {
    const at = ranksHeaderBytes + i * rankBytes;
    ranks.push({
      rank: view.getUint32(at, true),
      runningRequests: view.getFloat32(at + 4, true),
      waitingRequests: view.getFloat32(at + 8, true),
      kvCacheUsageRatio: view.getFloat32(at + 12, true),
    });
  }
  return {
    podKey: bytes.slice(0, podKeyBytes),
    port: recordPortAt(view, 0),
    epoch: recordEpochAt(view, 0),
    seq: recordPositionAt(view, 0),
    ranks,
  };
}
