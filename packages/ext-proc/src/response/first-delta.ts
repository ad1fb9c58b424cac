/**
 * Finds the moment at which a response shows the first generated token. Engines send more before it:
 * comments and pings that keep a connection open, and events that only open a message.
 *
 * | what comes                                                   | a token?                       |
 * |--------------------------------------------------------------|--------------------------------|
 * | a line that is no field of an event stream: a JSON document  | yes, when it is not blank      |
 * | `: comment`, `event:`, `id:`, `retry:`                       | no                             |
 * | `data:` with a string under `choices` (chat, completions)    | text, arguments, finish reason |
 * | `data:` with `delta` (OpenAI responses, Anthropic messages)  | a string, or one within        |
 * | `data:` with `text`, `content`, … at the top, or in `token`  | when it is not empty (native)  |
 * | any other `data:`: `message_start`, `ping`, an empty role    | no                             |
 * | chunk, `response.created`, an error, `[DONE]`                |                                |
 *
 * Lines end with LF, CR or both. It is fed as bytes arrive: chunk borders within lines, words or
 * UTF-8 sequences make no difference. Cost: some 5 ns per byte until the first token, nothing after.
 */
import { ByteSink } from '../request/byte-sink.ts';
import { type JsonListener, JsonScanner } from '../request/json-scanner.ts';

const lf = 0x0a;
const cr = 0x0d;
const keyBytesMax = 32;
const fieldNames = ['data', 'event', 'id', 'retry'];

/** Where generated text lies, whatever the API, below `choices`, `delta` and `token`. */
const generatedKeys = new Set([
  'arguments',
  'content',
  'data',
  'finish_reason',
  'name',
  'partial_json',
  'reasoning',
  'reasoning_content',
  'refusal',
  'signature',
  'stop_reason',
  'text',
  'thinking',
  'transcript',
]);
/** Strings at the top of an event of engines' own APIs. */
const topTextKeys = new Set([
  'content',
  'delta',
  'generated_text',
  'response',
  'text',
  'text_output',
]);
const containerKeys = new Set(['choices', 'delta', 'token']);

const At = { lineStart: 0, field: 1, data: 2, restOfLine: 3 } as const;
type At = (typeof At)[keyof typeof At];

export class FirstDelta implements JsonListener {
  readonly #scanner = new JsonScanner(this);
  readonly #key = new ByteSink(keyBytesMax);
  #field = '';
  #at: At = At.lineStart;
  #found = false;
  /** The last byte if it ended a line, else 0. */
  #ending = 0;
  #isInContainer = false;
  /** The value that begins next, or the text that is being read, is generated. */
  #isGenerated = false;
  #isKey = false;

  /** Whether the first token has been seen. */
  get found(): boolean {
    return this.#found;
  }

  feed(bytes: Uint8Array): void {
    const { length } = bytes;
    for (let at = 0; at < length && !this.#found; ) {
      if (this.#at === At.data) {
        const end = endOfLine(bytes, at);
        this.#scanner.feed(bytes, at, end);
        if (end > at) this.#ending = 0;
        at = end;
        if (end < length) this.#at = At.lineStart;
      } else this.#take(bytes[at++]!);
    }
  }

  #take(byte: number): void {
    if (byte === lf || byte === cr) {
      // An empty line ends an event; LF after CR ends the same line as that.
      const isSame = byte === lf && this.#ending === cr;
      if (this.#ending !== 0 && !isSame) this.#begin();
      this.#ending = byte;
      this.#at = At.lineStart;
      return;
    }
    this.#ending = 0;
    if (this.#at === At.restOfLine) return;
    if (this.#at === At.lineStart) {
      // Blanks may come before a document, to keep its connection open.
      if (byte === 0x20 || byte === 0x09) return;
      this.#field = '';
      this.#at = byte === 0x3a ? At.restOfLine : At.field;
    }
    if (this.#at === At.field) this.#readField(byte);
  }

  #readField(byte: number): void {
    if (byte !== 0x3a) {
      this.#field += String.fromCharCode(byte);
      if (!fieldNames.some((name) => name.startsWith(this.#field))) this.#found = true;
    } else if (this.#field === 'data') {
      this.#at = At.data;
      // A document may go over several `data:` lines of one event.
      if (this.#scanner.complete || this.#scanner.failed) this.#begin();
    } else if (fieldNames.includes(this.#field)) {
      this.#at = At.restOfLine;
    } else {
      this.#found = true;
    }
  }

  #begin(): void {
    this.#scanner.reset();
    this.#isInContainer = false;
    this.#isGenerated = false;
  }

  beginText(_: number, isKey: boolean): void {
    this.#isKey = isKey;
    if (isKey) this.#key.reset();
  }

  text(bytes: Uint8Array, from: number, to: number): void {
    if (this.#isKey) this.#key.append(bytes, from, to);
    else if (this.#isGenerated && to > from) this.#found = true;
  }

  codePoint(): void {
    if (!this.#isKey && this.#isGenerated) this.#found = true;
  }

  key(depth: number): void {
    const name = Buffer.from(this.#key.bytes).toString('latin1');
    if (depth === 1) {
      this.#isInContainer = containerKeys.has(name);
      this.#isGenerated = topTextKeys.has(name);
    } else this.#isGenerated = this.#isInContainer && generatedKeys.has(name);
  }

  endText(): void {}

  literal(): void {}

  opened(depth: number): void {
    // A string at the top is one; an object of that name says something else.
    if (depth === 1) this.#isGenerated = false;
  }

  closed(): void {
    this.#isGenerated = false;
  }
}

function endOfLine(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== lf && bytes[at] !== cr) at++;
  return at;
}
