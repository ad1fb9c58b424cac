import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { Counters } from '../counters.ts';
import { ProcessingRequest } from '../protobuf/processing-request.ts';
import { encodeRequest } from '../protobuf/reference-codec.ts';
import { RateLimitedLog } from '../rate-limited-log.ts';
import { type BodyReader, BodyReaders } from './body-reader.ts';

const quiet = new RateLimitedLog(undefined, () => 0);

function headersOf(headers: Record<string, string>) {
  const decoded = new ProcessingRequest();
  const list = Object.entries(headers).map(([key, value]) => ({
    key,
    rawValue: Buffer.from(value),
  }));
  decoded.decode(encodeRequest({ requestHeaders: { headers: { headers: list } } }));
  return decoded.headers!;
}

/** What a body with these headers tells; `null` where the body cannot be read at all. */
async function read(
  headers: Record<string, string>,
  body: Buffer,
  options: { capBytes?: number; chunkBytes?: number } = {},
) {
  const counters = new Counters();
  const readers = new BodyReaders(options.capBytes ?? 32 * 1_048_576, counters, quiet);
  const reader = readers.open(headersOf(headers));
  if (reader === undefined) return { fields: null, counters, readers };
  const step = options.chunkBytes ?? 65_536;
  for (let at = 0; at < body.length; at += step) reader.feed(body.subarray(at, at + step));
  await new Promise<void>((resolve) => reader.finish(resolve));
  const fields = snapshot(reader);
  reader.close();
  return { fields, counters, readers };
}

function snapshot(reader: BodyReader) {
  const { fields } = reader;
  return fields === undefined
    ? null
    : { model: fields.model, promptTokens: fields.promptTokens, complete: fields.scanner.complete };
}

const json = Buffer.from(JSON.stringify({ model: 'm', prompt: 'x'.repeat(4_000) }));
const asJson = { 'content-type': 'application/json' };
const gzipped = { ...asJson, 'content-encoding': 'gzip' };

describe('content encodings', () => {
  test('plain and gzip tell the same', async () => {
    const plain = await read(asJson, json);
    const zipped = await read(gzipped, gzipSync(json), { chunkBytes: 7 });
    expect(plain.fields).toEqual({ model: 'm', promptTokens: 1_000, complete: true });
    expect(zipped.fields).toEqual(plain.fields);
    expect(zipped.readers.inflating).toBe(0);
  });

  test('zstd and unknown ones are not read', async () => {
    const zstd = await read({ ...asJson, 'content-encoding': 'zstd' }, zstdCompressSync(json));
    expect(zstd.fields).toBeNull();
    expect(zstd.counters.get('undecodable_bodies')).toBe(1);
  });

  test('a false claim of gzip is not read', async () => {
    const { fields, counters, readers } = await read(gzipped, json);
    expect(fields).toBeNull();
    expect(counters.get('undecodable_bodies')).toBe(1);
    expect(readers.inflating).toBe(0);
  });

  test('a small body that inflates without end is stopped at the cap', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1_048_576, 0x20));
    const { fields, counters, readers } = await read(gzipped, bomb, { capBytes: 1_048_576 });
    expect(fields).toBeNull();
    expect(counters.get('undecodable_bodies')).toBe(1);
    expect(readers.inflating).toBe(0);
  });

  test('gzip that was cut off tells what it can', async () => {
    const whole = gzipSync(json);
    const { fields } = await read(gzipped, whole.subarray(0, whole.length - 8));
    expect(fields?.model).toBe('m');
  });
});

test('multipart and other types are not looked at', async () => {
  const { fields } = await read({ 'content-type': 'multipart/form-data; boundary=x' }, json);
  expect(fields).toBeNull();
  expect((await read({}, json)).fields?.model).toBe('m');
});

test('a large single chunk is read in slices, and finish waits for it', async () => {
  const body = Buffer.from(JSON.stringify({ model: 'm', prompt: 'x'.repeat(3_000_000) }));
  const { fields } = await read(asJson, body, { chunkBytes: body.length });
  expect(fields).toEqual({ model: 'm', promptTokens: 750_000, complete: true });
});

test('small chunks that wait behind a large one are read many at a time', async () => {
  const readers = new BodyReaders(32 * 1_048_576, new Counters(), quiet);
  const reader = readers.open(headersOf(asJson))!;
  const body = Buffer.from(JSON.stringify({ prompt: 'x'.repeat(300_000), model: 'm' }));
  reader.feed(body.subarray(0, 290_000));
  for (let at = 290_000; at < body.length; at++) reader.feed(body.subarray(at, at + 1));
  let turns = 0;
  let done = false;
  reader.finish(() => {
    done = true;
  });
  for (; !done; turns++) await new Promise((resolve) => setImmediate(resolve));
  expect(turns).toBeLessThan(10);
  expect(reader.fields?.model).toBe('m');
  reader.close();
});

test.each([
  ['small', asJson, json],
  ['large', asJson, Buffer.concat([json, Buffer.alloc(400_000, ' ')])],
  ['gzip', gzipped, gzipSync(json)],
])(
  'a fault while a %s body is read costs its fields, is logged, and nothing else',
  async (...row) => {
    const [, headers, body] = row;
    const logged: object[] = [];
    const note = (fields: object) => logged.push(fields);
    const counters = new Counters();
    const log = new RateLimitedLog({ warn: note, error: note }, () => 0);
    const readers = new BodyReaders(32 * 1_048_576, counters, log);
    const reader = readers.open(headersOf(headers))!;
    const cause = new Error('a bug of the scanner');
    reader.fields!.scanner.feed = () => {
      throw cause;
    };
    reader.feed(body);
    await new Promise<void>((resolve) => reader.finish(resolve));
    expect(reader.fields).toBeUndefined();
    reader.close();
    expect(counters.get('handler_errors')).toBe(1);
    expect(logged).toMatchObject([{ err: cause, place: 'body' }]);
    expect(readers.inflating).toBe(0);
  },
);

test('a body that is no JSON after all is given up on and counted', async () => {
  const { fields, counters } = await read(asJson, Buffer.from('not json'));
  expect(fields).toBeNull();
  expect(counters.get('unparseable_bodies')).toBe(1);
});

test('a reader that is closed early calls nobody back', async () => {
  const readers = new BodyReaders(1_000_000, new Counters(), quiet);
  const reader = readers.open(headersOf(gzipped))!;
  reader.feed(gzipSync(json));
  let called = false;
  reader.finish(() => {
    called = true;
  });
  reader.close();
  await new Promise((resolve) => setImmediate(resolve));
  expect(called).toBe(false);
  expect(readers.inflating).toBe(0);
});
