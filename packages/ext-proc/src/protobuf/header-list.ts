/**
 * The headers of one HTTP message as they lie in a ProcessingRequest: positions only, text is made
 * when a header is asked for. The list keeps the message's buffer alive, so whoever holds it longer
 * than the pick must drop it.
 *
 * Names match without regard to case. Values are read from `raw_value` and, where a sender fills
 * only that, from `value`.
 */
import { ProtobufError, type ProtobufReader, tagOf, WireType } from './reader.ts';

/** More headers than any gateway lets through (Envoy's own default is 100). */
const headersMax = 2_000;

const tagHeader = tagOf(1, WireType.bytes);
const tagKey = tagOf(1, WireType.bytes);
const tagValue = tagOf(2, WireType.bytes);
const tagRawValue = tagOf(3, WireType.bytes);

export class HeaderList {
  readonly #bytes: Buffer;
  /** Four numbers per header: begin and end of the name, begin and end of the value. */
  readonly #spans: number[] = [];

  /** Reads a `HeaderMap` that begins at the reader's position and ends at `end`. */
  constructor(reader: ProtobufReader, end: number) {
    const bytes = reader.bytes;
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    while (reader.at < end) {
      const tag = reader.varint(end);
      if (tag !== tagHeader) {
        reader.skip(tag, end);
        continue;
      }
      this.#readHeader(reader, reader.span(end));
    }
  }

  get count(): number {
    return this.#spans.length / 4;
  }

  /** The first value of a header; `name` in lower case. */
  get(name: string): string | undefined {
    const spans = this.#spans;
    for (let i = 0; i < spans.length; i += 4) {
      const from = spans[i]!;
      if (spans[i + 1]! - from === name.length && this.#nameAt(from, name)) {
        return this.#bytes.toString('latin1', spans[i + 2]!, spans[i + 3]!);
      }
    }
    return undefined;
  }

  #nameAt(from: number, name: string): boolean {
    const bytes = this.#bytes;
    for (let i = 0; i < name.length; i++) {
      let byte = bytes[from + i]!;
      if (byte >= 0x41 && byte <= 0x5a) byte += 0x20;
      if (byte !== name.charCodeAt(i)) return false;
    }
    return true;
  }

  #readHeader(reader: ProtobufReader, end: number): void {
    let keyFrom = 0;
    let keyTo = 0;
    let valueFrom = 0;
    let valueTo = 0;
    while (reader.at < end) {
      const tag = reader.varint(end);
      if (tag === tagKey) {
        keyTo = reader.span(end);
        keyFrom = reader.at;
        reader.at = keyTo;
      } else if (tag === tagRawValue || tag === tagValue) {
        const to = reader.span(end);
        if (to > reader.at) {
          valueFrom = reader.at;
          valueTo = to;
        }
        reader.at = to;
      } else {
        reader.skip(tag, end);
      }
    }
    if (this.#spans.length >= 4 * headersMax) throw new ProtobufError('too_many');
    this.#spans.push(keyFrom, keyTo, valueFrom, valueTo);
  }
}
