/**
 * A frame: the records of one sender and one flush, in one message. The same bytes travel from a
 * sidecar to its agent (HTTP POST), over NATS and over direct gRPC streams.
 *
 * ```
 *   0 u32 magic "LDF1"   4 u8 version   5 u8 kind   6 u16 header bytes
 *   8 16 B sender id (random per process)
 *  24 f64 sender epoch   32 f64 frame seq (per sender, from 1)
 *  40 u32 records        44 u32 bytes of the frame
 *  48 u16 part  50 u16 parts (a keyframe may need several frames)   52 u32 reserved (0)
 *  56 records: u16 type, u16 reserved (0), u32 payload bytes (multiple of 8), payload
 * ```
 *
 * Records are 8-byte aligned from the frame's start. A record type this reader does not know is
 * skipped; a known one that breaks its rules refuses the whole frame, so that none is ever half
 * applied.
 */

/** "LDF1" read as a little-endian u32. */
export const frameMagic = 0x3146444c;
export const frameVersion = 1;

export const frameOffset = {
  magic: 0,
  version: 4,
  kind: 5,
  headerBytes: 6,
  senderId: 8,
  senderEpoch: 24,
  seq: 32,
  records: 40,
  bytes: 44,
  part: 48,
  parts: 50,
} as const;

export const frameKind = {
  /** What changed since the last frame. */
  changes: 0,
  /** All that the sender knows, or one part of it. */
  keyframe: 1,
} as const;

export type FrameKind = (typeof frameKind)[keyof typeof frameKind];

export const recordType = {
  report: 1,
  attributes: 2,
  ranks: 3,
  gone: 4,
} as const;

export const senderIdBytes = 16;
