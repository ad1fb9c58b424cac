/**
 * Writes protobuf fields from the inside out: each function returns the bytes of one field, and an
 * outer field takes the inner ones as its parts. Simple rather than fast: replies that are sent
 * often are either cached (a pick) or laid out by hand (an echoed chunk).
 */

/** Bytes that `value` takes as a varint. 0 ≤ value < 2^53. */
export function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) bytes++;
  return bytes;
}

/** Writes a varint and returns the position after it. 0 ≤ value < 2^53. */
export function writeVarint(into: Uint8Array, at: number, value: number): number {
  let rest = value;
  let position = at;
  while (rest >= 128) {
    into[position++] = (rest % 128) + 128;
    rest = Math.floor(rest / 128);
  }
  into[position++] = rest;
  return position;
}

/** A length-delimited field: a message made of `parts`, a string or bytes. */
export function bytesField(field: number, ...parts: readonly Uint8Array[]): Buffer {
  let length = 0;
  for (const part of parts) length += part.length;
  const tag = field * 8 + 2;
  const out = Buffer.allocUnsafe(varintBytes(tag) + varintBytes(length) + length);
  let at = writeVarint(out, writeVarint(out, 0, tag), length);
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

export function textField(field: number, text: string): Buffer {
  return bytesField(field, Buffer.from(text, 'utf8'));
}

/** An unsigned integer, boolean or enumeration. */
export function varintField(field: number, value: number): Buffer {
  const tag = field * 8;
  const out = Buffer.allocUnsafe(varintBytes(tag) + varintBytes(value));
  writeVarint(out, writeVarint(out, 0, tag), value);
  return out;
}
