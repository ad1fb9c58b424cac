import { describe, expect, test } from 'vitest';
import { Part, ProcessingRequest } from './processing-request.ts';
import { ProtobufError } from './reader.ts';
import { encodeRequest } from './reference-codec.ts';

function decode(message: object): ProcessingRequest {
  const decoded = new ProcessingRequest();
  decoded.decode(encodeRequest(message));
  return decoded;
}
const header = (key: string, value: string) => ({ key, rawValue: Buffer.from(value) });

describe('a message written by another protobuf library', () => {
  test('request headers with their configuration', () => {
    const decoded = decode({
      requestHeaders: {
        headers: { headers: [header(':method', 'POST'), header('x-request-id', 'abc')] },
        endOfStream: true,
      },
      protocolConfig: { requestBodyMode: 4, responseBodyMode: 1 },
    });
    expect(decoded.part).toBe(Part.requestHeaders);
    expect(decoded.endOfStream).toBe(true);
    expect(decoded.headers?.count).toBe(2);
    expect(decoded.headers?.get('x-request-id')).toBe('abc');
    expect(decoded.headers?.get('x-request')).toBeUndefined();
    expect([decoded.requestBodyMode, decoded.responseBodyMode]).toEqual([4, 1]);
  });

  test('an absent configuration is told from one that says NONE', () => {
    expect(decode({ requestHeaders: {} }).requestBodyMode).toBe(-1);
    expect(decode({ requestHeaders: {}, protocolConfig: {} }).requestBodyMode).toBe(0);
  });

  test('header names match without regard to case; `value` is read where raw_value is empty', () => {
    const { headers } = decode({
      requestHeaders: {
        headers: { headers: [{ key: 'X-Request-ID', value: 'plain' }, header('a', 'b')] },
      },
    });
    expect(headers?.get('x-request-id')).toBe('plain');
  });

  test.each([
    ['requestBody', Part.requestBody],
    ['responseBody', Part.responseBody],
  ])('%s, empty and not', (name, part) => {
    const body = Buffer.from('{"prompt":"é"}');
    const decoded = decode({ [name]: { body, endOfStream: true } });
    expect(decoded.part).toBe(part);
    expect(Buffer.from(decoded.body)).toEqual(body);
    expect(decoded.endOfStream).toBe(true);
    expect(decode({ [name]: {} }).body.length).toBe(0);
  });

  test('trailers, observability mode', () => {
    const decoded = decode({ requestTrailers: {}, observabilityMode: true });
    expect(decoded.part).toBe(Part.requestTrailers);
    expect(decoded.observability).toBe(true);
  });

  test('one object is reused without anything left of the last message', () => {
    const decoded = decode({ requestBody: { body: Buffer.from('x'), endOfStream: true } });
    decoded.decode(encodeRequest({ responseTrailers: {} }));
    expect(decoded.part).toBe(Part.responseTrailers);
    expect(decoded.body.length).toBe(0);
    expect(decoded.endOfStream).toBe(false);
  });
});

test('a part that no version knows yet is no part, and not an error', () => {
  const decoded = new ProcessingRequest();
  decoded.decode(Buffer.from([0x7a, 0x01, 0x00]));
  expect(decoded.part).toBe(Part.none);
});

test.each([
  ['cut off in a length', [0x12]],
  ['longer than the message', [0x12, 0x05, 0x00]],
  ['an endless varint', [0x50, ...Array(12).fill(0xff)]],
  ['a group', [0x13]],
  ['thousands of empty attributes', Array(1_000).fill([0x4a, 0x00]).flat()],
  ['thousands of unknown fields', Array(10_000).fill([0x7a, 0x00]).flat()],
  ['the same part many times', Array(20).fill([0x12, 0x00]).flat()],
])('%s is a typed error', (_, bytes) => {
  expect(() => new ProcessingRequest().decode(Buffer.from(bytes))).toThrow(ProtobufError);
});
