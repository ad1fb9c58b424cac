/**
 * One pass over an exposition page (Prometheus text 0.0.4 and OpenMetrics 1.0), keeping only the
 * samples whose names the reader wants.
 *
 * Cost model: a page of 45 KB has about 45 families and 500 lines, of which an engine profile
 * wants 30. A line that is not wanted costs a few byte loads and the search for its line feed, which
 * the runtime does: linear in the bytes, whatever they are. Label lists that repeat are compared instead of read again. No string is made.
 * `npm run bench -- parse` measures the whole.
 *
 * Only wanted lines are checked in full. One that breaks the rules is never half read: it is noted
 * as a loss of its name ({@link Samples.lost}), as what is left of the family would be a smaller
 * number.
 *
 * Specs: prometheus.io, "Exposition formats", text format; OpenMetrics 1.0 section 3.
 */
import type { FamilyNames } from './family-names.ts';
import {
  byte,
  closingBrace,
  closingQuote,
  mayStartSample,
  skipBlanks,
  wordEnd,
} from './grammar.ts';
import { parseNumber } from './number.ts';
import { lineBytesMax, loss, noSet, type Samples } from './samples.ts';

/** Length of "# HELP " and "# TYPE ". */
const keywordBytes = 7;

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
  into.reset(bytes, names.names.length);
  const length = bytes.length;
  let from = 0;
  while (from < length) {
    const first = bytes[from];
    if (first === byte.lineFeed) from++;
    else if (first === byte.hash) from = readComment(bytes, from, names);
    else from = readLine(bytes, from, names, into);
  }
  into.finish();
}

/** Reads the comment that begins at `from`; returns where to go on. */
function readComment(bytes: Buffer, from: number, names: FamilyNames): number {
  const family = from + keywordBytes;
  const isKeyword = bytes[from + 1] === byte.space && bytes[family - 1] === byte.space;
  const wanted = !isKeyword || names.families.at(bytes, family) >= 0;
  const next = lineAfter(bytes, from);
  return wanted || family >= next ? next : skipUnwanted(bytes, next, names);
}

/**
 * Skips lines from `from` on, behind the comment of a family that is not wanted, and returns where
 * the first begins that is a comment, wanted, or anything else than a plain sample. A wanted line may
 * stand among another family's against the format's rule: it is read like any other.
 */
function skipUnwanted(bytes: Buffer, from: number, names: FamilyNames): number {
  const { samples } = names;
  let at = from;
  while (at < bytes.length) {
    const first = bytes[at] as number;
    // A name begins with a letter, an underscore or a colon, all of which lie between these two.
    if (first < byte.colon || first >= byte.braceOpen || samples.at(bytes, at) >= 0) break;
    at = lineAfter(bytes, at);
  }
  return at;
}

/** Where the line after the one at `from` begins. */
function lineAfter(bytes: Buffer, from: number): number {
  const end = bytes.indexOf(byte.lineFeed, from);
  return end < 0 ? bytes.length : end + 1;
}

/** Reads the line that begins at `from`, whatever it is; returns where the next one begins. */
function readLine(bytes: Buffer, from: number, names: FamilyNames, into: Samples): number {
  const at = skipBlanks(bytes, from, bytes.length);
  const name = names.samples.at(bytes, at);
  if (name >= 0) {
    const nameEnd = at + (names.names[name] as string).length;
    return readSample(bytes, from, nameEnd, name, names, into);
  }
  const first = at < bytes.length ? (bytes[at] as number) : byte.lineFeed;
  if (first === byte.braceOpen) return readQuotedName(bytes, from, at, names, into);
  const empty = first === byte.lineFeed || first === byte.carriageReturn || first === byte.hash;
  if (!empty && !mayStartSample(first)) into.malformedLines++;
  return lineAfter(bytes, at);
}

/** A line `{"name",label="value"} 1`, as Prometheus 3 writes names that need quotes, or all. */
function readQuotedName(
  bytes: Buffer,
  from: number,
  brace: number,
  names: FamilyNames,
  into: Samples,
): number {
  const quote = skipBlanks(bytes, brace + 1, bytes.length);
  const name = bytes[quote] === byte.quote ? names.samples.at(bytes, quote + 1) : -1;
  const nameEnd = quote + 1 + (name < 0 ? 0 : (names.names[name] as string).length);
  if (name < 0 || bytes[nameEnd] !== byte.quote) {
    return loseNameWithin(bytes, brace, names, into);
  }
  return readSample(bytes, from, nameEnd + 1, name, names, into, true);
}

/**
 * A line in whose braces labels stand before the name. The labels are not read there, so a wanted
 * one is noted as lost.
 */
function loseNameWithin(bytes: Buffer, brace: number, names: FamilyNames, into: Samples): number {
  const next = lineAfter(bytes, brace);
  let at = brace + 1;
  while (at < next) {
    at = skipBlanks(bytes, at, next);
    const isQuoted = bytes[at] === byte.quote;
    const from = isQuoted ? at + 1 : at;
    if (isQuoted) {
      const end = closingQuote(bytes, from, next);
      if (end < 0) return next;
      at = skipBlanks(bytes, end + 1, next);
      if (bytes[at] !== byte.equals) {
        const name = names.samples.at(bytes, from);
        if (name >= 0 && from + (names.names[name] as string).length === end) {
          into.lose(name, loss.malformed);
        }
      }
    } else while (at < next && bytes[at] !== byte.equals && bytes[at] !== byte.braceClose) at++;
    if (bytes[at] === byte.equals) {
      at = skipBlanks(bytes, at + 1, next);
      const end = bytes[at] === byte.quote ? closingQuote(bytes, at + 1, next) : -1;
      if (end < 0) return next;
      at = skipBlanks(bytes, end + 1, next);
    }
    if (bytes[at] !== byte.comma) return next;
    at++;
  }
  return next;
}

/**
 * Reads the wanted line that begins at `lineFrom`; returns where the next one begins. With
 * `inBraces` the name stood in the braces, and labels follow behind a comma.
 */
function readSample(
  bytes: Buffer,
  lineFrom: number,
  nameEnd: number,
  name: number,
  names: FamilyNames,
  into: Samples,
  inBraces = false,
): number {
  const next = lineAfter(bytes, nameEnd);
  let end = next > nameEnd && bytes[next - 1] === byte.lineFeed ? next - 1 : next;
  if (end > nameEnd && bytes[end - 1] === byte.carriageReturn) end--;
  if (end - lineFrom > lineBytesMax) {
    into.lose(name, loss.tooLong);
    return next;
  }
  let set = noSet;
  let labelsTo = -1;
  let at = skipBlanks(bytes, nameEnd, end);
  let labels = -1;
  if (inBraces) {
    if (bytes[at] === byte.comma) at = skipBlanks(bytes, at + 1, end);
    else if (bytes[at] !== byte.braceClose) {
      into.lose(name, loss.malformed);
      return next;
    }
    labels = at;
  } else if (at < end && bytes[at] === byte.braceOpen) labels = at + 1;
  if (labels >= 0) {
    set = into.findSet(labels, end);
    labelsTo = set < 0 ? closingBrace(bytes, labels, end) : labels + into.lengthOf(set);
    if (labelsTo < 0) {
      into.lose(name, loss.malformed);
      return next;
    }
    at = skipBlanks(bytes, labelsTo + 1, end);
  }
  const valueEnd = wordEnd(bytes, at, end);
  const value = valueEnd > at ? parseNumber(bytes, at, valueEnd) : undefined;
  if (value === undefined || !isTailSound(bytes, valueEnd, end)) {
    into.lose(name, loss.malformed);
    return next;
  }
  if (names.keepsNewest(name)) into.takeNewest(name, value, labels, labelsTo);
  else into.take(name, value, set, labels, labelsTo);
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
