/**
 * Attributes: what a target is, in words. Sent when they change and in keyframes, as they are
 * several times the size of a report and change a thousand times less often.
 *
 * ```
 *   0 head (record-head.ts), at a revision (order among the attributes of one epoch); in it
 *  18 u16 entries   20 u32 reserved (0)
 *  40 entries: u16 key, u16 bytes, UTF-8; zeros up to a multiple of 8
 * ```
 *
 * An unknown key is ignored; a key that occurs more than once is a list, in order.
 */
import { WireError, wireErrorCode } from './error.ts';
import { attributesBytesMax, attributeValueBytesMax, attributeValuesMax } from './limits.ts';
import { podKeyBytes } from './pod-key.ts';
import {
  checkRecordHead,
  recordEpochAt,
  recordHead,
  recordPortAt,
  recordPositionAt,
  writeRecordHead,
} from './record-head.ts';

const attributesHeaderBytes = recordHead.bytes;

/** Keys of entries. Append only. */
const attributeKey = {
  podName: 1,
  namespace: 2,
  nodeName: 3,
  engine: 4,
  engineVersion: 5,
  model: 6,
  metricsPort: 7,
  loraRunning: 8,
  loraWaiting: 9,
  /** `sidecar` or `agent`: who scraped. */
  reporter: 10,
} as const;

export interface Attributes {
  podKey: Uint8Array;
  port: number;
  epoch: number;
  revision: number;
  podName: string;
  namespace: string;
  nodeName: string;
  engine: string;
  engineVersion: string;
  metricsPort: string;
  reporter: string;
  models: readonly string[];
  /** `undefined`: the engine does not say. Empty: it says that none is active. */
  loraRunning: readonly string[] | undefined;
  loraWaiting: readonly string[] | undefined;
}

const utf8 = new TextEncoder();
const fatalUtf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Encodes attributes into a new array of at most {@link attributesBytesMax} bytes. Entries that
 * do not fit are left out from the end (LoRA names last) and counted in `dropped`.
 */
export function encodeAttributes(value: Attributes): { bytes: Uint8Array; dropped: number } {
  const writer = new EntryWriter();
  writer.text(attributeKey.podName, value.podName);
  writer.text(attributeKey.namespace, value.namespace);
  writer.text(attributeKey.nodeName, value.nodeName);
  writer.text(attributeKey.engine, value.engine);
  writer.text(attributeKey.engineVersion, value.engineVersion);
  writer.text(attributeKey.metricsPort, value.metricsPort);
  writer.text(attributeKey.reporter, value.reporter);
  writer.list(attributeKey.model, value.models);
  writer.set(attributeKey.loraRunning, value.loraRunning);
  writer.set(attributeKey.loraWaiting, value.loraWaiting);
  return { bytes: writer.finish(value), dropped: writer.dropped };
}

/** Checks an attributes record of `length` bytes. Throws {@link WireError}; reads no text. */
export function checkAttributes(view: DataView, offset: number, length: number): void {
  checkRecordHead(view, offset, length);
  if (length > attributesBytesMax) {
    throw new WireError(wireErrorCode.bounds, 'attributes too long');
  }
  const entries = view.getUint16(offset + 18, true);
  let at = attributesHeaderBytes;
  for (let i = 0; i < entries; i++) {
    if (at + 4 > length) throw new WireError(wireErrorCode.truncated, 'attribute entry');
    const bytes = view.getUint16(offset + at + 2, true);
    if (bytes > attributeValueBytesMax) throw new WireError(wireErrorCode.bounds, 'value length');
    at += 4 + bytes;
    if (at > length) throw new WireError(wireErrorCode.truncated, 'attribute value');
  }
}

/** Reads an attributes record. Throws {@link WireError}, also on text that is not UTF-8. */
export function decodeAttributes(bytes: Uint8Array): Attributes {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  checkAttributes(view, 0, bytes.length);
  const texts = new Map<number, string[]>();
  const entries = view.getUint16(18, true);
  let at = attributesHeaderBytes;
  for (let i = 0; i < entries; i++) {
    const key = view.getUint16(at, true);
    const length = view.getUint16(at + 2, true);
    const list = texts.get(key);
    const text = decodeText(bytes.subarray(at + 4, at + 4 + length));
    at += 4 + length;
    if (list === undefined) texts.set(key, [text]);
    else if (list.length <= attributeValuesMax) list.push(text);
  }
  const one = (key: number) => texts.get(key)?.[0] ?? '';
  return {
    podKey: bytes.slice(0, podKeyBytes),
    port: recordPortAt(view, 0),
    epoch: recordEpochAt(view, 0),
    revision: recordPositionAt(view, 0),
    podName: one(attributeKey.podName),
    namespace: one(attributeKey.namespace),
    nodeName: one(attributeKey.nodeName),
    engine: one(attributeKey.engine),
    engineVersion: one(attributeKey.engineVersion),
    metricsPort: one(attributeKey.metricsPort),
    reporter: one(attributeKey.reporter),
    models: texts.get(attributeKey.model) ?? [],
    loraRunning: withoutMark(texts.get(attributeKey.loraRunning)),
    loraWaiting: withoutMark(texts.get(attributeKey.loraWaiting)),
  };
}

/** A set's first entry is always "", which tells an empty set from one never stated. */
function withoutMark(list: string[] | undefined): string[] | undefined {
  return list?.filter((text) => text !== '');
}

class EntryWriter {
  dropped = 0;
  readonly #bytes = new Uint8Array(attributesBytesMax);
  readonly #view = new DataView(this.#bytes.buffer);
  #at: number = attributesHeaderBytes;
  #entries = 0;

  text(key: number, text: string): void {
    if (text !== '') this.#entry(key, text);
  }

  list(key: number, list: readonly string[]): void {
    for (const text of list.slice(0, attributeValuesMax)) this.#entry(key, text);
    this.dropped += Math.max(0, list.length - attributeValuesMax);
  }

  set(key: number, list: readonly string[] | undefined): void {
    if (list === undefined) return;
    this.#entry(key, '');
    this.list(key, list);
  }

  finish(value: Attributes): Uint8Array {
    writeRecordHead({ ...value, position: value.revision }, this.#view);
    this.#view.setUint16(18, this.#entries, true);
    return this.#bytes.slice(0, Math.ceil(this.#at / 8) * 8);
  }

  #entry(key: number, text: string): void {
    const encoded = utf8.encode(text);
    const end = this.#at + 4 + encoded.length;
    if (encoded.length > attributeValueBytesMax || end > attributesBytesMax) {
      this.dropped++;
      return;
    }
    this.#view.setUint16(this.#at, key, true);
    this.#view.setUint16(this.#at + 2, encoded.length, true);
    this.#bytes.set(encoded, this.#at + 4);
    this.#at = end;
    this.#entries++;
  }
}

function decodeText(bytes: Uint8Array): string {
  try {
    return fatalUtf8.decode(bytes);
  } catch {
    throw new WireError(wireErrorCode.value, 'attribute is not UTF-8');
  }
}
