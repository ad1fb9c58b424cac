/**
 * Bytes gathered up to a bound: grows by doubling, keeps its memory when it is reset, and quietly
 * takes no more once full, since a truncated prompt is as good for the pick as a whole one.
 */
export class ByteSink {
  readonly #bytesMax: number;
  #buffer = new Uint8Array(512);
  #length = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get length(): number {
    return this.#length;
  }

  /** What was gathered; valid until the next change. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  reset(): void {
    this.#length = 0;
  }

  push(byte: number): void {
    if (this.#reserve(1) > 0) this.#buffer[this.#length++] = byte;
  }

  append(bytes: Uint8Array, from: number, to: number): void {
    const room = this.#reserve(to - from);
    if (room <= 0) return;
    const end = from + room;
    if (room < 32) {
      for (let at = from; at < end; at++) this.#buffer[this.#length++] = bytes[at]!;
      return;
    }
    this.#buffer.set(bytes.subarray(from, end), this.#length);
    this.#length += room;
  }

  /** Appends a character in UTF-8. */
  codePoint(code: number): void {
    if (code < 0x80) {
      this.push(code);
    } else if (code < 0x800) {
      this.push(0xc0 | (code >> 6));
      this.push(0x80 | (code & 0x3f));
    } else {
      if (code < 0x10000) {
        this.push(0xe0 | (code >> 12));
      } else {
        this.push(0xf0 | (code >> 18));
        this.push(0x80 | ((code >> 12) & 0x3f));
      }
      this.push(0x80 | ((code >> 6) & 0x3f));
      this.push(0x80 | (code & 0x3f));
    }
  }

  /** Makes room for `bytes` more and returns how many of them fit. */
  #reserve(bytes: number): number {
    const room = Math.min(bytes, this.#bytesMax - this.#length);
    const wanted = this.#length + room;
    if (wanted > this.#buffer.length) {
      const larger = new Uint8Array(Math.min(this.#bytesMax, Math.max(wanted, 2 * wanted)));
      larger.set(this.#buffer.subarray(0, this.#length));
      this.#buffer = larger;
    }
    return room;
  }
}
