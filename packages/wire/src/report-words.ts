/**
 * A report's fields read in place, where it lies word by word: in a loaded frame, in a slot of the
 * view, in a reader's copy. `floats` and `ints` alias the same buffer, `word` is the position of the
 * report's first float64.
 *
 * Cost: one or two loads each, nothing allocated; the engine inlines them.
 */
import { reportBytes } from './limits.ts';
import { metricsCount } from './metric.ts';
import { reportOffset } from './report-layout.ts';

const epochWord = reportOffset.epoch / 8;
const seqWord = reportOffset.seq / 8;
const ageWord = reportOffset.ageMs / 8;
const metricsWord = reportOffset.metrics / 8;
const reportWords = reportBytes / 8;
const keyInt = reportOffset.podKey / 4;
const addressInt = reportOffset.address / 4;
/** Format in the lowest byte, flags in the next. */
const flagsInt = reportOffset.magic / 4 + 1;
/** Port in the lower half, rank in the upper. */
const portInt = reportOffset.port / 4;
/** Reason in the lowest byte, engine ranks in the next, metrics count in the upper half. */
const reasonInt = reportOffset.reason / 4;
/** Words before the epoch are no float64. */
const intsBeforeFloats = epochWord * 2;

export function reportEpochAt(floats: Float64Array, word: number): number {
  return floats[word + epochWord]!;
}

export function reportSeqAt(floats: Float64Array, word: number): number {
  return floats[word + seqWord]!;
}

/** The age that the sender states, ms. */
export function reportAgeMsAt(floats: Float64Array, word: number): number {
  return floats[word + ageWord]!;
}

/** Number `index` (`metric.x`); only where {@link copyReport} put the report. */
export function reportNumberAt(floats: Float64Array, word: number, index: number): number {
  return floats[word + metricsWord + index]!;
}

/** All {@link metricsCount} numbers to `into[at…]`; only where {@link copyReport} put the report. */
export function copyNumbersAt(
  floats: Float64Array,
  word: number,
  into: Float64Array,
  at: number,
): void {
  const from = word + metricsWord;
  for (let i = 0; i < metricsCount; i++) into[at + i] = floats[from + i]!;
}

export function reportFlagsAt(ints: Int32Array, word: number): number {
  return (ints[word * 2 + flagsInt]! >>> 8) & 0xff;
}

export function reportPortAt(ints: Int32Array, word: number): number {
  return ints[word * 2 + portInt]! & 0xffff;
}

export function reportRankAt(ints: Int32Array, word: number): number {
  return ints[word * 2 + portInt]! >>> 16;
}

export function reportReasonAt(ints: Int32Array, word: number): number {
  return ints[word * 2 + reasonInt]! & 0xff;
}

export function reportEngineRanksAt(ints: Int32Array, word: number): number {
  return (ints[word * 2 + reasonInt]! >>> 8) & 0xff;
}

/** Where in `ints` the four words of the pod key begin. */
export function reportKeyInt(word: number): number {
  return word * 2 + keyInt;
}

/** Where in the bytes the pod key begins. */
export function reportKeyByte(word: number): number {
  return word * 8 + reportOffset.podKey;
}

/** Whether two reports state the same address. */
export function isSameAddress(
  ints: Int32Array,
  word: number,
  otherInts: Int32Array,
  otherWord: number,
): boolean {
  const at = reportAddressInt(word);
  const otherAt = reportAddressInt(otherWord);
  for (let i = 0; i < 4; i++) if (ints[at + i] !== otherInts[otherAt + i]) return false;
  return true;
}

/** Where in `ints` the four words of the address begin. */
export function reportAddressInt(word: number): number {
  return word * 2 + addressInt;
}

/** Where in the bytes the 16 of the address begin. */
export function reportAddressByte(word: number): number {
  return word * 8 + reportOffset.address;
}

/**
 * Copies a report of any version to a place of {@link reportBytes}: numbers that it does not state
 * become NaN there, whatever lies behind it, and those that nobody here knows stay behind.
 *
 * The identity goes as integers, since a pod key that happens to look like a NaN need not keep its
 * bits as a float64; the numbers go as float64, half as many steps.
 */
export function copyReport(
  fromFloats: Float64Array,
  fromInts: Int32Array,
  fromWord: number,
  toFloats: Float64Array,
  toInts: Int32Array,
  toWord: number,
): void {
  const fromInt = fromWord * 2;
  const toInt = toWord * 2;
  for (let i = 0; i < intsBeforeFloats; i++) toInts[toInt + i] = fromInts[fromInt + i]!;
  const stated = fromInts[fromInt + reasonInt]! >>> 16;
  if (stated === metricsCount) {
    for (let i = epochWord; i < reportWords; i++) toFloats[toWord + i] = fromFloats[fromWord + i]!;
    return;
  }
  const known = Math.min(stated, metricsCount);
  toInts[toInt + reasonInt] = (fromInts[fromInt + reasonInt]! & 0xffff) | (known << 16);
  const end = metricsWord + known;
  for (let i = epochWord; i < end; i++) toFloats[toWord + i] = fromFloats[fromWord + i]!;
  for (let i = end; i < reportWords; i++) toFloats[toWord + i] = Number.NaN;
}
