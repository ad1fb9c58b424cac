/** The bytes and small scans that the parser and the label cursor share. */

export const byte = {
  tab: 0x09,
  lineFeed: 0x0a,
  carriageReturn: 0x0d,
  space: 0x20,
  quote: 0x22,
  hash: 0x23,
  comma: 0x2c,
  colon: 0x3a,
  equals: 0x3d,
  backslash: 0x5c,
  underscore: 0x5f,
  braceOpen: 0x7b,
  braceClose: 0x7d,
} as const;

export function isBlank(code: number | undefined): boolean {
  return code === byte.space || code === byte.tab;
}

export function skipBlanks(bytes: Uint8Array, from: number, end: number): number {
  let at = from;
  while (at < end && isBlank(bytes[at])) at++;
  return at;
}

/** Where the word that begins at `from` ends: at a blank or at `end`. */
export function wordEnd(bytes: Uint8Array, from: number, end: number): number {
  let at = from;
  while (at < end && !isBlank(bytes[at])) at++;
  return at;
}

/** Offset of the quote that ends the value begun at `from`; -1 when there is none before `end`. */
export function closingQuote(bytes: Uint8Array, from: number, end: number): number {
  for (let at = from; at < end; at++) {
    const code = bytes[at];
    if (code === byte.quote) return at;
    if (code === byte.backslash) at++;
  }
  return -1;
}

/** Offset of the brace that ends the label list begun at `from`; -1 when the list is unsound. */
export function closingBrace(bytes: Uint8Array, from: number, end: number): number {
  let at = skipBlanks(bytes, from, end);
  while (at < end) {
    if (bytes[at] === byte.braceClose) return at;
    at = keyEnd(bytes, at, end);
    if (at < 0) return -1;
    at = skipBlanks(bytes, at, end);
    if (at >= end || bytes[at] !== byte.equals) return -1;
    at = skipBlanks(bytes, at + 1, end);
    if (at >= end || bytes[at] !== byte.quote) return -1;
    at = closingQuote(bytes, at + 1, end);
    if (at < 0) return -1;
    at = skipBlanks(bytes, at + 1, end);
    if (at >= end) return -1;
    if (bytes[at] === byte.comma) at = skipBlanks(bytes, at + 1, end);
    else if (bytes[at] !== byte.braceClose) return -1;
  }
  return -1;
}

/** Where the label name at `from` ends, behind its quote where it has one; -1 when it is none. */
function keyEnd(bytes: Uint8Array, from: number, end: number): number {
  if (bytes[from] === byte.quote) {
    const quote = closingQuote(bytes, from + 1, end);
    return quote < 0 ? -1 : quote + 1;
  }
  let at = from;
  while (at < end && isNameByte(bytes[at] as number)) at++;
  return at === from ? -1 : at;
}

/** Label names: letters, digits and underscores; colons and dots are tolerated. */
function isNameByte(code: number): boolean {
  return isLetter(code) || (code >= 0x30 && code <= byte.colon) || code === 0x2e;
}

/** Letters and the underscore. */
function isLetter(code: number): boolean {
  const lower = code | 0x20;
  return (lower >= 0x61 && lower <= 0x7a) || code === byte.underscore;
}

/** What a sample's line may begin with: a name, or in newer formats a brace. */
export function mayStartSample(code: number): boolean {
  return isLetter(code) || code === byte.colon || code === byte.braceOpen;
}
