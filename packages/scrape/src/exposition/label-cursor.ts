/**
 * Walks the labels of one label set in place. Values become strings only on request.
 *
 * The list must have passed the parser, which checks its grammar; the cursor relies on that and
 * does not check again.
 */
import { fnvBasis, fnvPrime } from '@leadsman/service/fnv1a';
import { byte, closingQuote, isBlank } from './grammar.ts';
import { parseNumber } from './number.ts';
import type { Samples } from './samples.ts';

const nothing = new Uint8Array(0);

export class LabelCursor {
  #bytes: Uint8Array = nothing;
  #at = 0;
  #end = 0;
  #keyFrom = 0;
  #keyTo = 0;
  #valueFrom = 0;
  #valueTo = 0;

  /** Begins before the first label of `set`; -1 is the set without labels. */
  start(samples: Samples, set: number): void {
    this.#bytes = samples.bytes;
    this.#at = set < 0 ? 0 : (samples.setFrom[set] as number);
    this.#end = set < 0 ? 0 : (samples.setTo[set] as number);
  }

  /** Moves to the next label; `false` after the last. */
  next(): boolean {
    const bytes = this.#bytes;
    const end = this.#end;
    let at = this.#at;
    while (at < end && (isBlank(bytes[at]) || bytes[at] === byte.comma)) at++;
    if (at >= end) return false;
    if (bytes[at] === byte.quote) {
      this.#keyFrom = at + 1;
      this.#keyTo = closingQuote(bytes, at + 1, end);
      at = this.#keyTo + 1;
    } else {
      this.#keyFrom = at;
      while (at < end && bytes[at] !== byte.equals && !isBlank(bytes[at])) at++;
      this.#keyTo = at;
    }
    while (at < end && bytes[at] !== byte.quote) at++;
    this.#valueFrom = at + 1;
    this.#valueTo = closingQuote(bytes, at + 1, end);
    this.#at = this.#valueTo + 1;
    return true;
  }

  /** Moves to the label called `key`, from the start of `set`; `false` when there is none. */
  seek(samples: Samples, set: number, key: string): boolean {
    this.start(samples, set);
    while (this.next()) if (this.keyIs(key)) return true;
    return false;
  }

  keyIs(name: string): boolean {
    return this.#keyTo - this.#keyFrom === name.length && this.keyEndsWith(name);
  }

  keyEndsWith(suffix: string): boolean {
    const from = this.#keyTo - suffix.length;
    if (from < this.#keyFrom) return false;
    for (let i = 0; i < suffix.length; i++) {
      if (this.#bytes[from + i] !== suffix.charCodeAt(i)) return false;
    }
    return true;
  }

  get isEmpty(): boolean {
    return this.#valueTo === this.#valueFrom;
  }

  /** The value as a whole number of at most nine digits, or -1. */
  integer(): number {
    const length = this.#valueTo - this.#valueFrom;
    if (length === 0 || length > 9) return -1;
    let number = 0;
    for (let at = this.#valueFrom; at < this.#valueTo; at++) {
      const digit = (this.#bytes[at] as number) - 0x30;
      if (digit < 0 || digit > 9) return -1;
      number = number * 10 + digit;
    }
    return number;
  }

  /** The value as a number of the exposition format; NaN when it is none (`None`). */
  number(): number {
    return parseNumber(this.#bytes, this.#valueFrom, this.#valueTo) ?? Number.NaN;
  }

  /** The value decoded: escapes undone, bytes read as UTF-8. Allocates. */
  value(): string {
    const bytes = this.#bytes;
    const offset = bytes.byteOffset + this.#valueFrom;
    const raw = Buffer.from(bytes.buffer, offset, this.#valueTo - this.#valueFrom);
    const text = raw.toString('utf8');
    return text.includes('\\') ? unescapeLabel(text) : text;
  }

  /** A hash of key and value (32 bits), the same whatever stands before them. */
  hash(): number {
    let hash = fnvBasis;
    for (let at = this.#keyFrom; at < this.#keyTo; at++) {
      hash = Math.imul(hash ^ (this.#bytes[at] as number), fnvPrime);
    }
    hash = Math.imul(hash ^ byte.equals, fnvPrime);
    for (let at = this.#valueFrom; at < this.#valueTo; at++) {
      hash = Math.imul(hash ^ (this.#bytes[at] as number), fnvPrime);
    }
    return hash >>> 0;
  }
}

/** `\\`, `\"` and `\n`; any other escaped character stands for itself with its backslash. */
function unescapeLabel(text: string): string {
  return text.replaceAll(/\\(["\\n])/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
}
