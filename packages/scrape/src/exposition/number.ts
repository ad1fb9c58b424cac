/**
 * Numbers of the exposition formats, read in place: the bytes between two offsets, no string in the
 * usual case.
 *
 * Exact: a decimal of at most 15 digits whose power of ten is at most 22 is one correctly rounded
 * multiplication or division of two doubles that are both exact (Clinger, 1990). Anything longer
 * goes to the runtime's own parser, which would take `0x10` and blanks too, so the grammar is
 * checked here first. The spellings of infinity and NaN are ours: `Number('+Inf')` is NaN.
 */

const powersOfTen = Array.from({ length: 23 }, (_, exponent) => 10 ** exponent);
const exactDigitsMax = 15;
const exactExponentMax = 22;

const specials: Readonly<Record<string, number>> = {
  nan: Number.NaN,
  inf: Number.POSITIVE_INFINITY,
  infinity: Number.POSITIVE_INFINITY,
};

/** The number in `bytes[from, to)`; `undefined` when it is none. NaN means that the page says so. */
export function parseNumber(bytes: Uint8Array, from: number, to: number): number | undefined {
  let at = from;
  const sign = bytes[at];
  const negative = sign === 0x2d;
  if (negative || sign === 0x2b) at++;
  let mantissa = 0;
  let digits = 0;
  let exponent = 0;
  let pointSeen = false;
  for (; at < to; at++) {
    const code = bytes[at] as number;
    if (code === 0x2e && !pointSeen) {
      pointSeen = true;
      continue;
    }
    const digit = code - 0x30;
    if (digit < 0 || digit > 9) break;
    mantissa = mantissa * 10 + digit;
    digits++;
    if (pointSeen) exponent--;
  }
  if (digits === 0) return parseSpecial(bytes, from, to, negative);
  if (at < to) {
    const stated = parseExponent(bytes, at, to);
    if (stated === undefined) return undefined;
    exponent += stated;
  }
  if (digits > exactDigitsMax || exponent > exactExponentMax || exponent < -exactExponentMax) {
    return Number(asciiOf(bytes, from, to));
  }
  const power = powersOfTen[Math.abs(exponent)] ?? 1;
  const value = exponent < 0 ? mantissa / power : mantissa * power;
  return negative ? -value : value;
}

function parseExponent(bytes: Uint8Array, from: number, to: number): number | undefined {
  if (((bytes[from] as number) | 0x20) !== 0x65) return undefined;
  let at = from + 1;
  const sign = bytes[at];
  if (sign === 0x2d || sign === 0x2b) at++;
  if (at >= to) return undefined;
  let exponent = 0;
  for (; at < to; at++) {
    const digit = (bytes[at] as number) - 0x30;
    if (digit < 0 || digit > 9) return undefined;
    if (exponent < 10_000) exponent = exponent * 10 + digit;
  }
  return sign === 0x2d ? -exponent : exponent;
}

function parseSpecial(
  bytes: Uint8Array,
  from: number,
  to: number,
  negative: boolean,
): number | undefined {
  // The longest spelling is "-Infinity".
  if (to - from > 9) return undefined;
  const word = asciiOf(bytes, from, to).toLowerCase();
  const bare = word.startsWith('+') || word.startsWith('-') ? word.slice(1) : word;
  const value = specials[bare];
  if (value === undefined) return undefined;
  return negative ? -value : value;
}

function asciiOf(bytes: Uint8Array, from: number, to: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1');
}
