/**
 * Ledger messages: what picker replicas tell each other of their requests in flight and of the
 * prompts they sent where.
 *
 * ```
 *   0 u32 magic "LDL1"   4 u8 version   5 u8 kind   6 u16 header bytes
 *   8 16 B replica id    24 f64 replica epoch       32 f64 message seq (per epoch, from 1)
 *  40 f64 sent at, ms on the sender's monotonic clock (echoed, compared with itself only)
 *  48 u32 records        52 u32 bytes of the message
 *  56 records: u16 type, u16 reserved (0), u32 payload bytes (multiple of 8), payload
 *
 * echo     16 B replica id   16 f64 the `sent at` of its latest message   24 f64 held for, ms
 * load     16 B pod key   16 u16 port  18 6 B reserved   24 i32 × 4: requests, pending tokens,
 *          decoding, prompt tokens; absolute, of this replica alone
 * history  16 B pod key   16 u16 port  18 u16 blocks  20 u32 reserved   24 blocks × { i32, i32 }
 * ```
 *
 * Loads are absolute, so a lost message heals with the endpoint's next change or the keyframe,
 * which names every endpoint with requests: one that it does not name has none. A record type
 * this reader does not know is skipped; a known one that breaks its rules refuses the message.
 */
/** "LDL1" read as a little-endian u32. */
export const ledgerMagic = 0x314c444c;
export const ledgerVersion = 1;
export const ledgerHeaderBytes = 56;

export const ledgerKind = {
  /** What changed since the last message. */
  changes: 0,
  /** Every endpoint with requests in flight. */
  keyframe: 1,
  /** The replica stops: nothing of it counts any more. */
  leaving: 2,
} as const;

export const ledgerRecord = { echo: 1, load: 2, history: 3 } as const;

/** Bytes of the payloads; a history's before its blocks. */
export const ledgerPayloadBytes = { echo: 32, load: 40, historyHead: 24 } as const;

/** Blocks of one history record: a prompt of 512 KB in blocks of 256 B. */
export const historyBlocksMax = 2_048;

/** Numbers of a load record. */
export const ledgerLoadFields = 4;

/** Byte offsets of the header above. */
export const ledgerOffset = {
  magic: 0,
  version: 4,
  kind: 5,
  headerBytes: 6,
  replicaId: 8,
  epoch: 24,
  seq: 32,
  sentAtMs: 40,
  records: 48,
  bytes: 52,
} as const;
