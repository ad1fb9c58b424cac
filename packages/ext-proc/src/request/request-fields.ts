/**
 * The few fields of an inference request that a pick can use, taken from the token stream of
 * `json-scanner.ts`: OpenAI completions, chat, responses and embeddings, Anthropic messages.
 *
 * Prompt text is whatever text lies under the prompt's keys, in any shape: a string, a list of
 * strings, token ids, lists of token ids, messages with text or parts. It is gathered tools first,
 * then system, then the rest, which is the order in which engines put them in front of the model,
 * so that equal prefixes of prompts are equal prefixes here whatever the order of keys. Each text
 * ends with a NUL. Media (`url`, `data`, …) goes in as a digest of its content, or of its link
 * without the signature: its bytes say nothing to a tokenizer and may be megabytes.
 *
 * Where a key comes twice the last one counts, as in the engines' own parsers.
 *
 * Cost: a few ns per body byte; memory is bounded by the limits below and reused.
 */
import { fnvBasis, fnvPrime } from '@leadsman/service/fnv1a';
import { ByteSink } from './byte-sink.ts';
import { CacheIdentity } from './cache-identity.ts';
import { type JsonListener, JsonScanner } from './json-scanner.ts';
import { withoutSignature } from './media-url.ts';

/** Model names are paths at worst. */
const modelBytesMax = 512;
const keyBytesMax = 32;

/**
 * Prompt bytes kept: about 64,000 tokens, more than a prefix index looks at. Longer prompts are
 * still measured to their end.
 */
const promptBytesMax = 262_144;
const toolsBytesMax = 65_536;
const systemBytesMax = 131_072;

/** ASCII text of natural languages and code comes near four bytes per token. */
const asciiBytesPerToken = 4;

/** What an image or a recording stands for, since its bytes tell nothing: vision models use 256 to 1,500. */
const mediaTokens = 600;

/** Longer links are taken by their bytes. */
const linkBytesMax = 4_096;

const Target = { ignore: 0, key: 1, model: 2, prompt: 3, digest: 4, identity: 5 } as const;
type Target = (typeof Target)[keyof typeof Target];

/** Sections of the prompt in the order in which they are joined. */
const sectionOfKey: Readonly<Record<string, number>> = {
  tools: 0,
  system: 1,
  instructions: 1,
  prompt: 2,
  input: 2,
  messages: 2,
};
const limitKeys = new Set([
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'max_tokens_to_sample',
]);
const mediaKeys = new Set(['url', 'image_url', 'data', 'file_data', 'b64_json', 'video_url']);
const noiseKeys = new Set(['type', 'media_type', 'id', 'detail', 'format']);

class Section {
  readonly text: ByteSink;
  ascii = 0;
  wideChars = 0;
  exactTokens = 0;

  constructor(bytesMax: number) {
    this.text = new ByteSink(bytesMax);
  }

  reset(): void {
    this.text.reset();
    this.ascii = 0;
    this.wideChars = 0;
    this.exactTokens = 0;
  }

  get tokens(): number {
    return this.ascii / asciiBytesPerToken + this.wideChars + this.exactTokens;
  }
}

export class RequestFields implements JsonListener {
  readonly scanner = new JsonScanner(this);
  readonly #sections = [
    new Section(toolsBytesMax),
    new Section(systemBytesMax),
    new Section(promptBytesMax),
  ] as const;
  readonly #model = new ByteSink(modelBytesMax);
  readonly #key = new ByteSink(keyBytesMax);
  readonly #joined = new ByteSink(promptBytesMax);
  readonly #link = new ByteSink(linkBytesMax);
  readonly #identity = new CacheIdentity();
  #topKey = '';
  #nestedKey = '';
  #section: Section | undefined;
  /** The value being read belongs to the cache identity. */
  #inIdentity = false;
  #target: Target = Target.ignore;
  #digest = 0;
  #maxOutputTokens = 0;
  #streaming = false;

  reset(): void {
    this.scanner.reset();
    for (const section of this.#sections) section.reset();
    this.#model.reset();
    this.#topKey = '';
    this.#nestedKey = '';
    this.#section = undefined;
    this.#identity.reset();
    this.#inIdentity = false;
    this.#target = Target.ignore;
    this.#maxOutputTokens = 0;
    this.#streaming = false;
  }

  get model(): string {
    return Buffer.from(this.#model.bytes).toString('utf8');
  }

  get maxOutputTokens(): number {
    return this.#maxOutputTokens;
  }

  /** Whether the client asked for a stream of events. */
  get streaming(): boolean {
    return this.#streaming;
  }

  /** Model and salts: prompts of different identities share no cache; '' where none is known. */
  get cacheIdentity(): string {
    return this.#identity.text(this.model);
  }

  /** An estimate, at least 1 where there is any prompt. */
  get promptTokens(): number {
    let tokens = 0;
    for (const section of this.#sections) tokens += section.tokens;
    return Math.ceil(tokens);
  }

  /** The prompt's text, bounded; valid until the next change. */
  get prompt(): Uint8Array | undefined {
    const [tools, system, prompt] = this.#sections;
    if (tools.text.length === 0 && system.text.length === 0) {
      return prompt.text.length === 0 ? undefined : prompt.text.bytes;
    }
    this.#joined.reset();
    for (const section of this.#sections) {
      this.#joined.append(section.text.bytes, 0, section.text.length);
    }
    return this.#joined.bytes;
  }

  beginText(depth: number, isKey: boolean): void {
    if (isKey) {
      this.#key.reset();
      const isWanted = depth === 1 || this.#section !== undefined || this.#inIdentity;
      this.#target = isWanted ? Target.key : Target.ignore;
    } else if (this.#section !== undefined) {
      this.#target = this.#nestedTarget();
      if (this.#target !== Target.digest) return;
      this.#digest = fnvBasis;
      this.#link.reset();
    } else if (depth === 1 && this.#topKey === 'model') {
      this.#model.reset();
      this.#target = Target.model;
    } else if (this.#inIdentity && this.#identity.takes(this.#nestedKey)) {
      this.#target = Target.identity;
    } else {
      this.#target = Target.ignore;
    }
  }

  text(bytes: Uint8Array, from: number, to: number, nonAscii: number, wideChars: number): void {
    switch (this.#target) {
      case Target.prompt: {
        const section = this.#section!;
        section.text.append(bytes, from, to);
        section.ascii += to - from - nonAscii;
        section.wideChars += wideChars;
        break;
      }
      case Target.key:
        this.#key.append(bytes, from, to);
        break;
      case Target.model:
        this.#model.append(bytes, from, to);
        break;
      case Target.digest:
        this.#digest = fnv1a(this.#digest, bytes, from, to);
        this.#link.append(bytes, from, to);
        break;
      case Target.identity:
        this.#identity.append(bytes, from, to);
        break;
      default:
    }
  }

  codePoint(code: number): void {
    if (this.#target === Target.prompt) {
      const section = this.#section!;
      section.text.codePoint(code);
      if (code < 0x80) section.ascii++;
      else section.wideChars++;
    } else if (this.#target === Target.key) {
      this.#key.codePoint(code);
    } else if (this.#target === Target.model) {
      this.#model.codePoint(code);
    } else if (this.#target === Target.digest) {
      this.#digest = Math.imul(this.#digest ^ code, fnvPrime);
      this.#link.codePoint(code);
    } else if (this.#target === Target.identity) {
      this.#identity.codePoint(code);
    }
  }

  key(depth: number): void {
    if (depth === 1) {
      this.#topKey = keyText(this.#key.bytes);
      this.#nestedKey = '';
      const section = sectionOfKey[this.#topKey];
      this.#section = section === undefined ? undefined : this.#sections[section];
      this.#section?.reset();
      this.#inIdentity = this.#identity.begin(this.#topKey);
    } else if (this.#target === Target.key) {
      this.#nestedKey = keyText(this.#key.bytes);
    }
  }

  endText(depth: number): void {
    const section = this.#section;
    if (section === undefined) {
      if (this.#inIdentity) this.#endIdentity(depth);
      return;
    }
    if (this.#target === Target.prompt) {
      section.text.push(0);
    } else if (this.#target === Target.digest) {
      const digest = this.#mediaDigest();
      for (let shift = 24; shift >= 0; shift -= 8) section.text.push((digest >>> shift) & 255);
      section.text.push(0);
      section.exactTokens += mediaTokens;
    }
    if (depth === 1) this.#section = undefined;
  }

  literal(depth: number, bytes: Uint8Array, length: number): void {
    const section = this.#section;
    if (section !== undefined) {
      // Token ids: exactly one token each.
      if (isNumber(bytes[0]) && this.#nestedKey === '') {
        section.text.append(bytes, 0, Math.min(length, bytes.length));
        section.text.push(0x2c);
        section.exactTokens++;
      }
      if (depth === 1) this.#section = undefined;
    } else if (this.#inIdentity) {
      // `null` and booleans say that there is no salt.
      const counts = isNumber(bytes[0]) && this.#identity.takes(this.#nestedKey);
      if (counts) this.#identity.append(bytes, 0, Math.min(length, bytes.length));
      this.#endIdentity(depth);
    } else if (depth === 1 && limitKeys.has(this.#topKey) && length <= bytes.length) {
      const value = Number(Buffer.from(bytes.subarray(0, length)).toString('latin1'));
      if (Number.isFinite(value) && value > 0) this.#maxOutputTokens = Math.floor(value);
    } else if (depth === 1 && this.#topKey === 'stream') {
      this.#streaming = bytes[0] === 0x74;
    }
  }

  opened(depth: number): void {
    // An array of messages or parts begins without a key of its own.
    if (depth > 1 && this.#section === undefined && !this.#inIdentity) return;
    this.#nestedKey = mediaKeys.has(this.#nestedKey) ? this.#nestedKey : '';
  }

  closed(depth: number): void {
    this.#nestedKey = '';
    if (depth === 1) this.#section = undefined;
    if (this.#inIdentity && depth === 1) this.#endIdentity(depth);
  }

  /** A text, number or list of the identity has ended. */
  #endIdentity(depth: number): void {
    if (depth > 1) {
      this.#identity.separate();
      return;
    }
    this.#inIdentity = false;
    this.#identity.end();
  }

  /** The same for every link to one object, and for content the same as long as its bytes are. */
  #mediaDigest(): number {
    const { bytes, length } = this.#link;
    // "http", and whole.
    if (length === linkBytesMax || bytes[0] !== 0x68 || bytes[3] !== 0x70) return this.#digest;
    const link = Buffer.from(withoutSignature(Buffer.from(bytes).toString('latin1')), 'latin1');
    return fnv1a(fnvBasis, link, 0, link.length);
  }

  #nestedTarget(): Target {
    if (mediaKeys.has(this.#nestedKey)) return Target.digest;
    return noiseKeys.has(this.#nestedKey) ? Target.ignore : Target.prompt;
  }
}

function keyText(bytes: Uint8Array): string {
  return bytes.length === keyBytesMax ? '' : String.fromCharCode(...bytes);
}

function isNumber(byte: number | undefined): boolean {
  return byte !== undefined && (byte === 0x2d || (byte >= 0x30 && byte <= 0x39));
}

function fnv1a(basis: number, bytes: Uint8Array, from: number, to: number): number {
  let hash = basis;
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ bytes[at]!, fnvPrime);
  return hash;
}
