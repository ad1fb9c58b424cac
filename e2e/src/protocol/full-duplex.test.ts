/** The rules of FULL_DUPLEX_STREAMED that a body mode table cannot show. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { destinationIn, type ProtocolStream, type Reply } from './client.ts';
import { type PickerUnderTest, startPickerUnderTest } from './picker-under-test.ts';

let picker: PickerUnderTest;
beforeEach(async () => {
  picker = await startPickerUnderTest((options) => {
    options.exchange.bodyBytesMax = 1_000_000;
    options.exchange.decisionTimeoutMs = 300;
  });
});
afterEach(() => picker.stop());

const json = { 'content-type': 'application/json' };
const duplex = {
  requestMode: 'FULL_DUPLEX_STREAMED',
  responseMode: 'FULL_DUPLEX_STREAMED',
} as const;

function open(headers: Record<string, string> = json): ProtocolStream {
  const stream = picker.client().open();
  stream.requestHeaders(headers, duplex);
  return stream;
}

/** Takes body replies of one direction until the body's end or a reply of another kind. */
async function takeBody(stream: ProtocolStream, part: 'request_body' | 'response_body') {
  const chunks: Buffer[] = [];
  let ended = false;
  let other: Reply | undefined;
  while (!ended && other === undefined) {
    const reply = await stream.reply();
    const streamed = reply[part]?.response?.body_mutation?.streamed_response;
    if (streamed === undefined) {
      other = reply;
      break;
    }
    chunks.push(streamed.body);
    ended = streamed.end_of_stream;
  }
  return { bytes: Buffer.concat(chunks), chunks, ended, other };
}

async function expectPick(stream: ProtocolStream): Promise<void> {
  const reply = await stream.reply();
  expect(destinationIn(reply.request_headers?.response?.header_mutation)).toBe('10.0.0.1:8000');
}

test('chunks of 0, 10 and 100,000 bytes come back as they were, in both directions', async () => {
  const sizes = [0, 10, 100_000];
  const stream = open();
  const parts = sizes.map((size, i) => Buffer.alloc(size, 0x61 + i));
  parts.forEach((part, i) => {
    stream.requestBody(part, i === 2);
  });
  await expectPick(stream);
  const request = await takeBody(stream, 'request_body');
  expect(request.bytes.equals(Buffer.concat(parts))).toBe(true);
  expect(request.ended).toBe(true);
  expect(Math.max(...request.chunks.map((chunk) => chunk.length))).toBeLessThanOrEqual(62_000);
  stream.responseHeaders({});
  await stream.reply();
  parts.forEach((part, i) => {
    stream.responseBody(part, i === 2);
  });
  const response = await takeBody(stream, 'response_body');
  expect(response.bytes.equals(Buffer.concat(parts))).toBe(true);
  expect(response.ended).toBe(true);
});

test('a last chunk without bytes keeps its end_of_stream', async () => {
  const stream = open();
  stream.requestBody('{"model":"m"}', false);
  stream.requestBody('', true);
  await expectPick(stream);
  const { bytes, ended } = await takeBody(stream, 'request_body');
  expect(bytes.toString()).toBe('{"model":"m"}');
  expect(ended).toBe(true);
  expect(stream.pending).toBe(0);
});

test('a request that ends in trailers is picked for, and a trailers reply closes it', async () => {
  const stream = open();
  stream.requestBody('{"model":"m"}', false);
  stream.requestTrailers({ 'x-checksum': '1' });
  await expectPick(stream);
  const { bytes, ended, other } = await takeBody(stream, 'request_body');
  expect(bytes.toString()).toBe('{"model":"m"}');
  expect(ended).toBe(false);
  expect(other?.response).toBe('request_trailers');
  expect(picker.scheduler.requests[0]?.model).toBe('m');
});

test('trailers right after the headers are picked for too', async () => {
  const stream = open();
  stream.requestTrailers();
  await expectPick(stream);
  expect((await stream.reply()).response).toBe('request_trailers');
});

test('a last chunk that is delivered twice is echoed once', async () => {
  const stream = open();
  stream.requestBody('{"model":', false);
  stream.requestBody('"m"}', true);
  stream.requestBody('"m"}', true);
  await expectPick(stream);
  const { bytes } = await takeBody(stream, 'request_body');
  expect(bytes.toString()).toBe('{"model":"m"}');
  stream.responseHeaders({});
  expect((await stream.reply()).response).toBe('response_headers');
  expect(picker.counters.get('repeated_body_ends')).toBe(1);
});

test('the picker keeps its own deadline: a body that does not end is not waited for', async () => {
  const stream = open();
  stream.requestBody('{"model":"m","prompt":"and then', false);
  await expectPick(stream);
  expect(picker.counters.get('picks_at_deadline')).toBe(1);
  expect((await stream.reply()).response).toBe('request_body');
  stream.requestBody(' more"}', true);
  const rest = await takeBody(stream, 'request_body');
  expect(rest.bytes.toString()).toBe(' more"}');
  expect(rest.ended).toBe(true);
});

test('after an upgrade, chunks pass in both directions as they come', async () => {
  const stream = open({ ...json, connection: 'upgrade', upgrade: 'tunnel' });
  await expectPick(stream);
  for (const chunk of ['ping', 'pong']) {
    stream.requestBody(chunk, false);
    const reply = await stream.reply();
    const streamed = reply.request_body?.response?.body_mutation?.streamed_response;
    expect(streamed?.body.toString()).toBe(chunk);
    expect(streamed?.end_of_stream).toBe(false);
  }
});

test('a body of another type is not held up, and its bytes stay', async () => {
  const stream = open({ 'content-type': 'multipart/form-data; boundary=b' });
  await expectPick(stream);
  stream.requestBody('--b\r\n\r\n--bx', true);
  expect((await takeBody(stream, 'request_body')).bytes.toString()).toBe('--b\r\n\r\n--bx');
});

describe('a body above the cap', () => {
  test('is picked for without being read, and passes through', async () => {
    const stream = open();
    const part = Buffer.alloc(60_000, 'x');
    for (let i = 0; i < 20; i++) stream.requestBody(part, i === 19);
    await expectPick(stream);
    const { bytes, ended } = await takeBody(stream, 'request_body');
    expect(bytes.length).toBe(1_200_000);
    expect(ended).toBe(true);
    expect(picker.counters.get('picks_without_body')).toBe(1);
  });

  test('is known from its content-length, and then not waited for', async () => {
    const stream = open({ ...json, 'content-length': '1000001' });
    await expectPick(stream);
  });
});

test('a chunk larger than gRPC messages may be is refused with 413', async () => {
  await picker.stop();
  picker = await startPickerUnderTest((options) => {
    options.limits.messageBytesMax = 200_000;
  });
  const stream = open();
  stream.requestBody(Buffer.alloc(300_000), true);
  const reply = await stream.reply();
  expect(reply.immediate_response?.status.code).toBe(413);
});

test('a message without any known part is counted and changes nothing', async () => {
  const stream = open();
  stream.send({ observability_mode: false });
  stream.requestBody('{}', true);
  await expectPick(stream);
  expect(picker.counters.get('unexpected_messages')).toBe(1);
});

test('observability mode is not answered, picked for or counted', async () => {
  const stream = picker.client().open();
  stream.send({
    request_headers: { headers: { headers: [] }, end_of_stream: true },
    observability_mode: true,
  });
  stream.send({ response_headers: { headers: { headers: [] } }, observability_mode: true });
  stream.halfClose();
  expect((await stream.status()).code).toBe(0);
  expect(stream.pending).toBe(0);
  expect(picker.scheduler.requests).toHaveLength(0);
});
