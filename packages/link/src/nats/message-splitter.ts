/**
 * Takes the messages out of a NATS connection's bytes before the client library sees them.
 *
 * The library parses byte by byte, wraps each message in objects and hands it over by promises;
 * for a collector, which gets thousands of small messages a second, that is most of its work. Here
 * a message costs a search for its line's end and a slice. All other protocol lines, and messages
 * with headers, go on to the library untouched and in order.
 *
 * ```
 *   MSG <subject> <sid> [reply] <bytes>\r\n<payload>\r\n
 * ```
 *
 * Slices share the chunk's memory and are valid during the call. A message that is cut off waits,
 * bounded by the largest payload the server announced.
 */

/** `subject` and `payload` are valid only during the call. */
export type MessageListener = (sid: number, subject: Uint8Array, payload: Uint8Array) => void;

const carriageReturn = 13;
const lineFeed = 10;
const blank = 32;
const letterM = 77;
const letterH = 72;
const zero = 48;

/** Longest protocol line of a message; the server's own bound (`max_control_line`) is 4 KiB. */
const lineBytesMax = 65_536;

/** Largest message a server can be configured to pass (`max_payload`). */
const messageBytesMax = 67_108_864;

export class MessageSplitter {
  readonly #onMessage: MessageListener;
  readonly #onRest: (bytes: Uint8Array) => void;
  #held: Uint8Array | undefined;

  /** `onRest` gets everything that is no plain message, in whole lines. */
  constructor(onMessage: MessageListener, onRest: (bytes: Uint8Array) => void) {
    this.#onMessage = onMessage;
    this.#onRest = onRest;
  }

  /** Takes the next bytes of the connection. Throws RangeError on what no server sends. */
  push(chunk: Uint8Array): void {
    const bytes = this.#held === undefined ? chunk : joined(this.#held, chunk);
    this.#held = undefined;
    let at = 0;
    let restFrom = 0;
    while (at < bytes.length) {
      const end = this.#unitEnd(bytes, at);
      if (end < 0) break;
      if (bytes[at] === letterM) {
        if (restFrom < at) this.#onRest(bytes.subarray(restFrom, at));
        this.#message(bytes, at, end);
        restFrom = end;
      }
      at = end;
    }
    if (restFrom < at) this.#onRest(bytes.subarray(restFrom, at));
    // The chunk's memory may be used again by whoever gave it.
    if (at < bytes.length) this.#held = bytes.slice(at);
  }

  /** Where the line, or the message, that begins at `at` ends; -1: not yet. */
  #unitEnd(bytes: Uint8Array, at: number): number {
    const lineEnd = bytes.indexOf(lineFeed, at) + 1;
    if (lineEnd === 0) {
      if (bytes.length - at > lineBytesMax) throw new RangeError('protocol line without an end');
      return -1;
    }
    const first = bytes[at];
    if (first !== letterM && first !== letterH) return lineEnd;
    const size = sizeOf(bytes, at, lineEnd);
    if (!(size <= messageBytesMax)) throw new RangeError('message without a bound');
    const end = lineEnd + size + 2;
    return end <= bytes.length ? end : -1;
  }

  #message(bytes: Uint8Array, at: number, end: number): void {
    const subjectFrom = at + 4;
    const payloadFrom = bytes.indexOf(lineFeed, at) + 1;
    const subjectEnd = bytes.indexOf(blank, subjectFrom);
    const sidEnd = bytes.indexOf(blank, subjectEnd + 1);
    if (subjectEnd < 0 || sidEnd < 0 || sidEnd >= payloadFrom) {
      throw new RangeError('message line without its parts');
    }
    const sid = numberIn(bytes, subjectEnd + 1, sidEnd);
    this.#onMessage(
      sid,
      bytes.subarray(subjectFrom, subjectEnd),
      bytes.subarray(payloadFrom, end - 2),
    );
  }
}

/** The last number of the line from `at` to `lineEnd`; NaN when its last word is none. */
function sizeOf(bytes: Uint8Array, at: number, lineEnd: number): number {
  const end = bytes[lineEnd - 2] === carriageReturn ? lineEnd - 2 : lineEnd - 1;
  let from = end;
  while (from > at && bytes[from - 1] !== blank) from--;
  return numberIn(bytes, from, end);
}

/** The decimal number there; NaN when there is anything else, or nothing. */
function numberIn(bytes: Uint8Array, from: number, end: number): number {
  let value = from < end ? 0 : Number.NaN;
  for (let i = from; i < end; i++) {
    const digit = bytes[i]! - zero;
    value = digit >= 0 && digit <= 9 ? value * 10 + digit : Number.NaN;
  }
  return value;
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(first.length + second.length);
  bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}
