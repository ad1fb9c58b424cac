/**
 * The gRPC service of proto/feed.proto: paths, and the messages' bytes.
 *
 * Three messages of one or two fields are written and read by hand: a frame then costs one copy,
 * and no process has to find a .proto file beside its bundle. Unknown fields are skipped, as
 * proto3 asks.
 */
import type { MethodDefinition } from '@grpc/grpc-js';

export interface WatchRequest {
  name: string;
  /** 0: the collector's choice. */
  intervalMs: number;
}

/** Bytes that do not form a message of this service. grpc-js turns it into a status. */
export class FeedMessageError extends Error {
  override readonly name = 'FeedMessageError';
  readonly code = 'feed_message';
}

const wireVarint = 0;
const wireFixed64 = 1;
const wireBytes = 2;
const wireFixed32 = 5;

export function encodeFrame(payload: Uint8Array): Buffer {
  const header = varintBytes(payload.length);
  const message = Buffer.allocUnsafe(1 + header + payload.length);
  message[0] = (1 << 3) | wireBytes;
  writeVarint(message, 1, payload.length);
  message.set(payload, 1 + header);
  return message;
}

/** The payload, which shares the message's memory. */
export function decodeFrame(message: Uint8Array): Uint8Array {
  let payload: Uint8Array = new Uint8Array(0);
  for (const field of fields(message)) {
    if (field.number === 1 && field.bytes !== undefined) payload = field.bytes;
  }
  return payload;
}

export function encodeReceived(frames: number): Buffer {
  const message = Buffer.allocUnsafe(1 + varintBytes(frames));
  message[0] = (1 << 3) | wireVarint;
  writeVarint(message, 1, frames);
  return message;
}

export function decodeReceived(message: Uint8Array): number {
  let frames = 0;
  for (const field of fields(message)) {
    if (field.number === 1 && field.bytes === undefined) frames = countOf(field);
  }
  return frames;
}

export function encodeWatchRequest(request: WatchRequest): Buffer {
  const name = Buffer.from(request.name, 'utf8');
  const head = Buffer.alloc(1 + varintBytes(name.length));
  head[0] = (1 << 3) | wireBytes;
  writeVarint(head, 1, name.length);
  const tail = Buffer.alloc(1 + varintBytes(request.intervalMs));
  tail[0] = (2 << 3) | wireVarint;
  writeVarint(tail, 1, request.intervalMs);
  return Buffer.concat([head, name, tail]);
}

export function decodeWatchRequest(message: Uint8Array): WatchRequest {
  const request: WatchRequest = { name: '', intervalMs: 0 };
  for (const field of fields(message)) {
    if (field.number === 1 && field.bytes !== undefined) {
      request.name = new TextDecoder().decode(field.bytes);
    } else if (field.number === 2 && field.bytes === undefined) {
      request.intervalMs = countOf(field);
    }
  }
  return request;
}

/** `Feed/Push`: both directions are streams. */
export const pushMethod: MethodDefinition<Uint8Array, number> = {
  path: '/leadsman.v1.Feed/Push',
  requestStream: true,
  responseStream: true,
  requestSerialize: encodeFrame,
  requestDeserialize: decodeFrame as (bytes: Buffer) => Uint8Array,
  responseSerialize: encodeReceived,
  responseDeserialize: decodeReceived,
};

/** `Feed/Watch`: one request, a stream of frames. */
export const watchMethod: MethodDefinition<WatchRequest, Uint8Array> = {
  path: '/leadsman.v1.Feed/Watch',
  requestStream: false,
  responseStream: true,
  requestSerialize: encodeWatchRequest,
  requestDeserialize: decodeWatchRequest,
  responseSerialize: encodeFrame,
  responseDeserialize: decodeFrame as (bytes: Buffer) => Uint8Array,
};

export const feedService = { Push: pushMethod, Watch: watchMethod };

interface Field {
  number: number;
  value: number;
  bytes: Uint8Array | undefined;
}

/** What a number cannot hold exactly is no count that a sender means. */
function countOf({ value }: Field): number {
  if (!Number.isSafeInteger(value)) throw new FeedMessageError(`the number ${value} is too large`);
  return value;
}

function* fields(message: Uint8Array): Generator<Field> {
  let at = 0;
  while (at < message.length) {
    const tag = readVarint(message, at);
    at = skipVarint(message, at);
    const number = Math.floor(tag / 8);
    const kind = tag % 8;
    if (kind === wireVarint) {
      const value = readVarint(message, at);
      at = skipVarint(message, at);
      yield { number, value, bytes: undefined };
    } else if (kind === wireBytes) {
      const length = readVarint(message, at);
      const from = skipVarint(message, at);
      at = from + length;
      if (at > message.length) throw new FeedMessageError('field is cut off');
      yield { number, value: 0, bytes: message.subarray(from, at) };
    } else if (kind === wireFixed64 || kind === wireFixed32) {
      at += kind === wireFixed64 ? 8 : 4;
      if (at > message.length) throw new FeedMessageError('field is cut off');
    } else throw new FeedMessageError(`unknown wire type ${kind}`);
  }
}

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes++;
  return bytes;
}

function writeVarint(into: Uint8Array, offset: number, value: number): void {
  let at = offset;
  let rest = value;
  while (rest >= 0x80) {
    into[at++] = (rest % 0x80) | 0x80;
    rest = Math.floor(rest / 0x80);
  }
  into[at] = rest;
}

/** Exact up to 2^53, more than a counter of frames or a length can be; what is above is rounded. */
function readVarint(message: Uint8Array, offset: number): number {
  let value = 0;
  let scale = 1;
  for (let at = offset; at < message.length && at < offset + 10; at++) {
    const byte = message[at] as number;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return value;
    scale *= 0x80;
  }
  throw new FeedMessageError('number is cut off');
}

function skipVarint(message: Uint8Array, offset: number): number {
  let at = offset;
  while (at < message.length && (message[at] as number) >= 0x80) at++;
  return at + 1;
}
