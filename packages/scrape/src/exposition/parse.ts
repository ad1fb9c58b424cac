/**
 * One pass over an exposition page (Prometheus text 0.0.4 and OpenMetrics 1.0), keeping only the
 * samples whose names the reader wants.
 *
 * Cost model: a page of 45 KB has about 45 families and 500 lines, of which an engine profile
 * wants 30. A family that is not wanted is skipped as a whole: its lines are one group behind its
 * HELP and TYPE lines (the format's rule), so reading goes on at the next comment, provided that
 * the last line before it still is of that family. Within other families a line that is not
 * wanted costs a few byte loads and the search for its line feed, which the runtime does. Label
 * lists that repeat are compared instead of read again. No string is made. `npm run bench --
 * parse` measures the whole.
 *
 * Only wanted lines are checked in full. A line that breaks the rules is counted and left out,
 * never half read; it does not spoil the page.
 *
 * Specs: prometheus.io, "Exposition formats", text format; OpenMetrics 1.0 section 3.
 */
import { type FamilyNames, sampleSuffixes } from './family-names.ts';
import { byte, closingBrace, mayStartSample, skipBlanks, wordEnd } from './grammar.ts';
import { NameTable } from './name-table.ts';
import { parseNumber } from './number.ts';
import { lineBytesMax, type Samples } from './samples.ts';

/** Length of "# HELP " and "# TYPE ". */
const keywordBytes = 7;

const suffixes = new NameTable(sampleSuffixes);

/**
 * Reads `page` into `into`, which keeps a reference to it: `page` may be overwritten as soon as
 * the samples were used. Never throws. Cost and bounds: see above and {@link Samples}.
 */
export function parsePage(page: Uint8Array, names: FamilyNames, into: Samples): void {
  const mark = page[0] === 0xef && page[1] === 0xbb && page[2] === 0xbf ? 3 : 0;
  const bytes =
    Buffer.isBuffer(page) && mark === 0
      ? page
      : Buffer.from(page.buffer, page.byteOffset + mark, page.length - mark);
  into.reset(bytes);
  const length = bytes.length;
  let from = 0;
  while (from < length) {
    const first = bytes[from];
    if (first === byte.lineFeed) from++;
    else if (first === byte.hash) from = readComment(bytes, from, names);
    else from = readLine(bytes, from, names, into);
  }
}

/** Reads the comment that begins at `from`; returns where to go on. */
function readComment(bytes: Buffer, from: number, names: FamilyNames): number {
  const family = from + keywordBytes;
  const isKeyword = bytes[from + 1] === byte.space && bytes[family - 1] === byte.space;
  const wanted = !isKeyword || names.families.at(bytes, family) >= 0;
  const lineEnd = bytes.indexOf(byte.lineFeed, from);
  if (lineEnd < 0) return bytes.length;
  if (wanted || family >= lineEnd) return lineEnd + 1;
  const length = wordLength(bytes, family);
  // A TYPE line of the same family, which mostly follows its HELP line, needs no look of its own.
  if (bytes[lineEnd + 1] !== byte.hash) {
    return skipFamily(bytes, family, length, lineEnd, lineEnd);
  }
  const second = lineEnd + 1 + keywordBytes;
  const isPair = isSame(bytes, family, second, length) && isWordEnd(bytes[second + length]);
  return isPair ? skipFamily(bytes, family, length, lineEnd, second) : lineEnd + 1;
}

/** Where the family named at `family` ends, if all lines up to there are its own. */
function skipFamily(
  bytes: Buffer,
  family: number,
  length: number,
  lineEnd: number,
  seekFrom: number,
): number {
  let next = bytes.indexOf(byte.hash, seekFrom);
  while (next >= 0 && bytes[next - 1] !== byte.lineFeed) {
    next = bytes.indexOf(byte.hash, next + 1);
  }
  if (next < 0) next = bytes.length;
  let lastEnd = next;
  while (lastEnd > lineEnd && bytes[lastEnd - 1] === byte.lineFeed) lastEnd--;
  const lastFrom = bytes.lastIndexOf(byte.lineFeed, lastEnd - 1) + 1;
  // The TYPE line itself is the last one when the family has no samples.
  if (lastEnd <= seekFrom || lastFrom <= seekFrom) return next;
  const isOwn = isSame(bytes, family, lastFrom, length) && isSampleSuffix(bytes, lastFrom + length);
  return isOwn ? next : lineEnd + 1;
}

function isSame(bytes: Uint8Array, left: number, right: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (bytes[left + i] !== bytes[right + i]) return false;
  return true;
}

/** Whether what follows a family's name at `at` makes it the name of one of its samples. */
function isSampleSuffix(bytes: Buffer, at: number): boolean {
  const after = bytes[at];
  if (after === byte.braceOpen || isWordEnd(after)) return true;
  // A histogram's `_bucket`, a summary's `_sum`: anything longer is a family of its own.
  return after === byte.underscore && suffixes.at(bytes, at) >= 0;
}

function wordLength(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && (bytes[at] as number) > byte.space) at++;
  return at - from;
}

function isWordEnd(code: number | undefined): boolean {
  return code === undefined || code <= byte.space;
}

/** Reads the line that begins at `from`, whatever it is; returns where the next one begins. */
function readLine(bytes: Buffer, from: number, names: FamilyNames, into: Samples): number {
  const at = skipBlanks(bytes, from, bytes.length);
  const name = names.samples.at(bytes, at);
  if (name >= 0) {
    const nameEnd = at + (names.names[name] as string).length;
    return readSample(bytes, from, nameEnd, name, into);
  }
  const first = at < bytes.length ? (bytes[at] as number) : byte.lineFeed;
  const empty = first === byte.lineFeed || first === byte.carriageReturn || first === byte.hash;
  if (!empty && !mayStartSample(first)) into.malformedLines++;
  const end = bytes.indexOf(byte.lineFeed, at);
  return end < 0 ? bytes.length : end + 1;
}

/** Reads the wanted line that begins at `lineFrom`; returns where the next one begins. */
function readSample(
  bytes: Buffer,
  lineFrom: number,
  nameEnd: number,
  name: number,
  into: Samples,
): number {
  const found = bytes.indexOf(byte.lineFeed, nameEnd);
  const next = found < 0 ? bytes.length : found + 1;
  let end = found < 0 ? bytes.length : found;
  if (end > nameEnd && bytes[end - 1] === byte.carriageReturn) end--;
  if (end - lineFrom > lineBytesMax) {
    into.droppedSamples++;
    return next;
  }
  let set = -1;
  let at = skipBlanks(bytes, nameEnd, end);
  if (at < end && bytes[at] === byte.braceOpen) {
    set = into.findSet(at + 1, end);
    if (set < 0) {
      const close = closingBrace(bytes, at + 1, end);
      if (close < 0) {
        into.malformedLines++;
        return next;
      }
      set = into.addSet(at + 1, close);
      if (set < 0) {
        into.droppedSamples++;
        return next;
      }
      at = close + 1;
    } else {
      at += (into.setTo[set] as number) - (into.setFrom[set] as number) + 2;
    }
    at = skipBlanks(bytes, at, end);
  }
  const valueEnd = wordEnd(bytes, at, end);
  const value = valueEnd > at ? parseNumber(bytes, at, valueEnd) : undefined;
  if (value === undefined || !isTailSound(bytes, valueEnd, end)) into.malformedLines++;
  else into.add(name, value, set);
  return next;
}

/** After the value: nothing, a timestamp, and in OpenMetrics an exemplar behind a hash. */
function isTailSound(bytes: Uint8Array, from: number, end: number): boolean {
  let at = skipBlanks(bytes, from, end);
  if (at < end && bytes[at] !== byte.hash) {
    const timeEnd = wordEnd(bytes, at, end);
    if (parseNumber(bytes, at, timeEnd) === undefined) return false;
    at = skipBlanks(bytes, timeEnd, end);
  }
  return at === end || bytes[at] === byte.hash;
}
