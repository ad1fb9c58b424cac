/**
 * Finds single values in `Metadata` and `Struct` messages without building objects: the subset
 * hint, the served endpoint, an attribute. Where a map repeats a key, the last entry counts, as
 * everywhere in protobuf.
 */
import { ProtobufReader, tagOf, WireType } from './reader.ts';

const tagEntry = tagOf(1, WireType.bytes);
const tagKey = tagOf(1, WireType.bytes);
const tagEntryValue = tagOf(2, WireType.bytes);
const tagString = tagOf(3, WireType.bytes);
const tagList = tagOf(6, WireType.bytes);

/** Part of a buffer that holds one message. */
export interface Span {
  bytes: Uint8Array;
  from: number;
  to: number;
}

/**
 * The value of `key` in a message whose field 1 is a map from text to messages: a `Metadata` (of
 * namespaces), or a `Struct` (of values).
 */
export function mapEntry(map: Span, key: string): Span | undefined {
  const reader = new ProtobufReader(map.bytes, map.from);
  let found: Span | undefined;
  while (reader.at < map.to) {
    const tag = reader.varint(map.to);
    if (tag !== tagEntry) {
      reader.skip(tag, map.to);
      continue;
    }
    const to = reader.span(map.to);
    const value = entryValue({ bytes: map.bytes, from: reader.at, to }, key);
    if (value !== undefined) found = value;
    reader.at = to;
  }
  return found;
}

/** The value of one map entry if its key is `key`. */
export function entryValue(entry: Span, key: string): Span | undefined {
  const reader = new ProtobufReader(entry.bytes, entry.from);
  let matches = key === '';
  let value: Span = { bytes: entry.bytes, from: entry.to, to: entry.to };
  while (reader.at < entry.to) {
    const tag = reader.varint(entry.to);
    if (tag === tagKey) {
      const to = reader.span(entry.to);
      matches = textOf(entry.bytes, reader.at, to) === key;
      reader.at = to;
    } else if (tag === tagEntryValue) {
      const to = reader.span(entry.to);
      value = { bytes: entry.bytes, from: reader.at, to };
      reader.at = to;
    } else {
      reader.skip(tag, entry.to);
    }
  }
  return matches ? value : undefined;
}

/** The texts of a `Value`: itself if it is text, its members that are text if it is a list. */
export function textsOfValue(value: Span, textsMax: number): string[] {
  const texts: string[] = [];
  collectTexts(value, texts, textsMax, 0);
  return texts;
}

function collectTexts(value: Span, texts: string[], textsMax: number, depth: number): void {
  const reader = new ProtobufReader(value.bytes, value.from);
  while (reader.at < value.to) {
    const tag = reader.varint(value.to);
    if (tag === tagString) {
      const to = reader.span(value.to);
      if (texts.length < textsMax) texts.push(textOf(value.bytes, reader.at, to));
      reader.at = to;
    } else if (tag === tagList && depth === 0) {
      const to = reader.span(value.to);
      collectMembers({ bytes: value.bytes, from: reader.at, to }, texts, textsMax);
      reader.at = to;
    } else {
      reader.skip(tag, value.to);
    }
  }
}

function collectMembers(list: Span, texts: string[], textsMax: number): void {
  const reader = new ProtobufReader(list.bytes, list.from);
  while (reader.at < list.to) {
    const tag = reader.varint(list.to);
    if (tag !== tagEntry) {
      reader.skip(tag, list.to);
      continue;
    }
    const to = reader.span(list.to);
    collectTexts({ bytes: list.bytes, from: reader.at, to }, texts, textsMax, 1);
    reader.at = to;
  }
}

function textOf(bytes: Uint8Array, from: number, to: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('utf8');
}
