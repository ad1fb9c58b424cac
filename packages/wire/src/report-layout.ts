/**
 * Where a report's fields lie. Known to this package alone: others read reports by report.ts, or
 * in place by report-words.ts.
 *
 * ```
 *   0 u32 magic "LDR1"       4 u8 format, 1   5 u8 flags   6 u16 256 (bytes of version 1)
 *   8 16 B pod key
 *  24 16 B address (IPv4 mapped)
 *  40 u16 serving port  42 u16 rank  44 u8 reason  45 u8 engine ranks  46 u16 metrics count
 *  48 f64 epoch             56 f64 seq
 *  64 f64 age of the numbers when the frame left its sender, ms
 *  72 f64 × metrics count   see metric.ts, NaN = unknown
 * ```
 *
 * All numbers little-endian. Identity is (pod key, serving port); order is (epoch, seq). Ages are
 * durations, so no sender's clock is ever compared with a receiver's.
 *
 * Versions differ in how many numbers they know, and by nothing else: 23 in version 1 (256 bytes),
 * 27 in version 2 (288 bytes). A report ends where its record ends; a number that is not counted,
 * or lies behind that end, is unknown; one that the reader does not know is skipped. So a reader of
 * any version takes reports of any other. Two fields look odd for that:
 * - bytes 6 and 7 stay at 256: readers of version 1 refuse a report that says it is longer than it
 *   is, and their views pass on the first 256 bytes of a longer one.
 * - the format stays at 1 as long as the first 72 bytes and the numbers behind them are what they
 *   are here: a reader skips reports of another format, and those of version 1 would refuse them.
 */
import { reportHeadBytes } from './limits.ts';

/** "LDR1" read as a little-endian u32. */
export const reportMagic = 0x3152444c;
export const reportFormat = 1;

/** Byte offsets of the fields above. */
export const reportOffset = {
  magic: 0,
  format: 4,
  flags: 5,
  size: 6,
  podKey: 8,
  address: 24,
  port: 40,
  rank: 42,
  reason: 44,
  engineRanks: 45,
  metricsCount: 46,
  epoch: 48,
  seq: 56,
  ageMs: 64,
  metrics: reportHeadBytes,
} as const;
