/**
 * Reads the protobuf wire format: tags, varints and lengths, nothing of any message.
 *
 * One cursor walks one buffer; nested messages are walked with the same cursor up to their end, so
 * reading allocates nothing. Lengths are checked against the enclosing message, so a walk never
 * leaves its buffer, whatever the bytes say.
 */

export type ProtobufErrorCode = 'truncated' | 'varint' | 'wire_type' | 'too_many';

/** Bytes that are no protobuf message. `code` is of low cardinality, for a counter. */
export class ProtobufError extends Error {
  readonly code: ProtobufErrorCode;
  constructor(code: ProtobufErrorCode) {
    super(`malformed protobuf: ${code}`);
    this.name = 'ProtobufError';
    this.code = code;
  }
}

export const WireType = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

export class ProtobufReader {
  bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  /** Begins again on other bytes. */
  reset(bytes: Uint8Array, at = 0): void {
    this.bytes = bytes;
    this.at = at;
  }

  /**
   * The next varint below `end`. Exact up to 2^53; larger ones, which no field read here may
   * legally hold, come out rounded. Throws after ten bytes.
   */
  varint(end: number): number {
    const bytes = this.bytes;
    let at = this.at;
    if (at >= end) throw new ProtobufError('truncated');
    let byte = bytes[at++]!;
    if (byte < 0x80) {
      this.at = at;
      return byte;
    }
    let value = byte & 0x7f;
    let factor = 128;
    for (let count = 1; count < 10; count++) {
      if (at >= end) throw new ProtobufError('truncated');
      byte = bytes[at++]!;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) {
        this.at = at;
        return value;
      }
      factor *= 128;
    }
    throw new ProtobufError('varint');
  }

  /** Reads a length and returns where that many bytes end; `at` is left where they begin. */
  span(end: number): number {
    const length = this.varint(end);
    const to = this.at + length;
    if (to > end) throw new ProtobufError('truncated');
    return to;
  }

  /** Steps over the value of a field that nobody reads. */
  skip(tag: number, end: number): void {
    switch (tag & 7) {
      case WireType.varint:
        this.varint(end);
        return;
      case WireType.fixed64:
        this.#step(8, end);
        return;
      case WireType.bytes:
        this.at = this.span(end);
        return;
      case WireType.fixed32:
        this.#step(4, end);
        return;
      default:
        throw new ProtobufError('wire_type');
    }
  }

  #step(count: number, end: number): void {
    if (this.at + count > end) throw new ProtobufError('truncated');
    this.at += count;
  }
}

/** The tag of a field: its number and how its value is laid out. */
export function tagOf(field: number, wireType: number): number {
  return field * 8 + wireType;
}
