/** One test per row of the mode table: what the picker answers, message by message. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  destinationHeader,
  destinationIn,
  destinationInMetadata,
  type Mode,
  type ProtocolStream,
  type Reply,
} from './client.ts';
import { type PickerUnderTest, startPickerUnderTest } from './picker-under-test.ts';

let picker: PickerUnderTest;
let stream: ProtocolStream;
beforeAll(async () => {
  picker = await startPickerUnderTest();
});
afterAll(() => picker.stop());
beforeEach(() => {
  stream = picker.client().open();
});

const json = { 'content-type': 'application/json' };
const body = '{"model":"m","prompt":"hello"}';

function expectPick(reply: Reply, part: 'request_headers' | 'request_body'): void {
  expect(reply.response).toBe(part);
  expect(destinationIn(reply[part]?.response?.header_mutation)).toBe('10.0.0.1:8000');
  expect(destinationInMetadata(reply)).toBe('10.0.0.1:8000');
  expect(reply[part]?.response?.header_mutation?.set_headers).toHaveLength(1);
}

test('NONE: the headers alone are answered, with the pick', async () => {
  stream.requestHeaders(json, { requestMode: 'NONE' });
  const reply = await stream.reply();
  expectPick(reply, 'request_headers');
  expect(reply.request_headers?.response?.clear_route_cache).toBe(false);
});

test('STREAMED: the pick goes on the headers, then each chunk is answered in order', async () => {
  stream.requestHeaders(json, { requestMode: 'STREAMED' });
  expectPick(await stream.reply(), 'request_headers');
  for (const [chunk, last] of [
    [body.slice(0, 5), false],
    [body.slice(5), true],
  ] as const) {
    stream.requestBody(chunk, last);
    const reply = await stream.reply();
    expect(reply.response).toBe('request_body');
    expect(reply.request_body?.response?.body_mutation ?? null).toBeNull();
  }
});

test.each(['BUFFERED', 'BUFFERED_PARTIAL'] as Mode[])(
  '%s: headers are answered before the body is seen, the pick goes on the body',
  async (mode) => {
    stream.requestHeaders({ ...json, [destinationHeader]: '6.6.6.6:6' }, { requestMode: mode });
    const onHeaders = await stream.reply();
    expect(onHeaders.response).toBe('request_headers');
    expect(destinationInMetadata(onHeaders)).toBeUndefined();
    expect(onHeaders.request_headers?.response?.header_mutation?.remove_headers).toEqual([
      destinationHeader,
    ]);
    // The partial mode sends what it has, which need not be the end.
    stream.requestBody(body, mode === 'BUFFERED');
    const onBody = await stream.reply();
    expectPick(onBody, 'request_body');
    expect(onBody.request_body?.response?.body_mutation ?? null).toBeNull();
    expect(picker.scheduler.requests.at(-1)?.model).toBe('m');
  },
);

test('BUFFERED: a body that is not JSON is picked for on its headers', async () => {
  stream.requestHeaders({ 'content-type': 'text/plain' }, { requestMode: 'BUFFERED' });
  expectPick(await stream.reply(), 'request_headers');
  stream.requestBody('anything', true);
  expect((await stream.reply()).response).toBe('request_body');
});

test('BUFFERED: trailers without any body get the pick as metadata', async () => {
  stream.requestHeaders(json, { requestMode: 'BUFFERED' });
  await stream.reply();
  stream.requestTrailers();
  const reply = await stream.reply();
  expect(reply.response).toBe('request_trailers');
  expect(destinationInMetadata(reply)).toBe('10.0.0.1:8000');
});

test('FULL_DUPLEX_STREAMED: nothing until the body is complete, then headers, body', async () => {
  stream.requestHeaders(json, { requestMode: 'FULL_DUPLEX_STREAMED' });
  stream.requestBody(body.slice(0, 7), false);
  stream.requestBody(body.slice(7), true);
  expectPick(await stream.reply(), 'request_headers');
  const echoed = [await stream.reply(), await stream.reply()].map(
    (reply) => reply.request_body?.response?.body_mutation?.streamed_response,
  );
  expect(Buffer.concat(echoed.map((part) => part!.body)).toString()).toBe(body);
  expect(echoed.map((part) => part!.end_of_stream)).toEqual([false, true]);
});

test('without protocol_config the configured mode holds', async () => {
  stream.requestHeaders(json);
  stream.requestBody(body, true);
  expectPick(await stream.reply(), 'request_headers');
  const reply = await stream.reply();
  expect(reply.request_body?.response?.body_mutation?.mutation).toBe('streamed_response');
});

const everyMode: Mode[] = [
  'NONE',
  'STREAMED',
  'BUFFERED',
  'BUFFERED_PARTIAL',
  'FULL_DUPLEX_STREAMED',
];

describe.each(everyMode)('in mode %s', (mode) => {
  test('end_of_stream on the headers is picked for at once', async () => {
    stream.requestHeaders({ ':method': 'GET' }, { requestMode: mode, endOfStream: true });
    expectPick(await stream.reply(), 'request_headers');
  });

  test('an upgrade is picked for at once, as its body never ends', async () => {
    const upgrade = { ...json, connection: 'Upgrade', upgrade: 'websocket' };
    stream.requestHeaders(upgrade, { requestMode: mode });
    expectPick(await stream.reply(), 'request_headers');
  });

  test('the client’s own destination is overwritten or removed in the first reply', async () => {
    stream.requestHeaders({ ...json, [destinationHeader]: '6.6.6.6:6' }, { requestMode: mode });
    if (mode === 'FULL_DUPLEX_STREAMED') stream.requestBody(body, true);
    const mutation = (await stream.reply()).request_headers?.response?.header_mutation;
    const removed = mutation?.remove_headers.includes(destinationHeader);
    expect(removed || destinationIn(mutation) === '10.0.0.1:8000').toBe(true);
  });

  test('a message that does not belong is counted and answered', async () => {
    const before = picker.counters.get('unexpected_messages');
    stream.requestHeaders({}, { requestMode: mode, endOfStream: true });
    expectPick(await stream.reply(), 'request_headers');
    stream.requestHeaders({}, {});
    expect((await stream.reply()).response).toBe('request_headers');
    expect(picker.counters.get('unexpected_messages')).toBe(before + 1);
    stream.responseHeaders({});
    expect((await stream.reply()).response).toBe('response_headers');
  });
});

describe('response body modes', () => {
  const chunks = ['data: {"choices":[{"text":"a"}]}\n\nda', 'ta: {"usage":{"completion_tok'];
  const last = 'ens":4}}\n\ndata: [DONE]\n\n';

  async function respond(mode: Mode, end: 'eos' | 'trailers'): Promise<Reply[]> {
    stream.requestHeaders({}, { requestMode: 'NONE', responseMode: mode, endOfStream: true });
    await stream.reply();
    stream.responseHeaders({ 'content-type': 'text/event-stream' });
    const replies = [await stream.reply()];
    for (const chunk of chunks) {
      stream.responseBody(chunk, false);
      replies.push(await stream.reply());
    }
    stream.responseBody(last, end === 'eos');
    replies.push(await stream.reply());
    if (end === 'trailers') {
      stream.responseTrailers({ 'x-late': '1' });
      replies.push(await stream.reply());
    }
    return replies;
  }

  const modes: [Mode, 'eos' | 'trailers'][] = [
    ['STREAMED', 'eos'],
    ['STREAMED', 'trailers'],
    ['BUFFERED', 'eos'],
    ['FULL_DUPLEX_STREAMED', 'eos'],
    ['FULL_DUPLEX_STREAMED', 'trailers'],
  ];
  test.each(modes)('%s ended by %s: answered at once, tokens and end seen', async (mode, end) => {
    const released = picker.scheduler.released.length;
    const firstTokens = picker.scheduler.firstTokens.length;
    const replies = await respond(mode, end);
    const bodies = replies.filter((reply) => reply.response === 'response_body');
    expect(bodies).toHaveLength(3);
    const streamed = bodies.map(
      (reply) => reply.response_body?.response?.body_mutation?.streamed_response,
    );
    if (mode === 'FULL_DUPLEX_STREAMED') {
      expect(Buffer.concat(streamed.map((part) => part!.body)).toString()).toBe(
        chunks.join('') + last,
      );
      expect(streamed.map((part) => part!.end_of_stream)).toEqual([false, false, end === 'eos']);
    } else {
      expect(streamed.every((part) => part === undefined)).toBe(true);
    }
    if (end === 'trailers') expect(replies.at(-1)!.response).toBe('response_trailers');
    expect(picker.scheduler.firstTokens.length).toBe(firstTokens + 1);
    expect(picker.scheduler.released.slice(released)).toEqual([
      { ticket: expect.any(Number), outcome: { outputTokens: 4, aborted: false } },
    ]);
    // The exchange is complete, so the server ends the call and no reset is needed.
    expect((await stream.status()).code).toBe(0);
  });

  test('NONE: headers are answered, and the end of the exchange is the end of the request', async () => {
    const released = picker.scheduler.released.length;
    stream.requestHeaders({}, { requestMode: 'NONE', endOfStream: true });
    await stream.reply();
    stream.responseHeaders({});
    await stream.reply();
    expect(picker.scheduler.released.length).toBe(released);
    stream.halfClose();
    expect((await stream.status()).code).toBe(0);
    expect(picker.scheduler.released.at(-1)?.outcome).toEqual({ outputTokens: -1, aborted: false });
  });
});
