/** What the scheduler hears of a response: the first token, whose answer it is, and who served it. */
import { waitUntil } from '@leadsman/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ProtocolStream, struct } from './client.ts';
import { type PickerUnderTest, startPickerUnderTest } from './picker-under-test.ts';

let picker: PickerUnderTest;
beforeEach(async () => {
  picker = await startPickerUnderTest();
});
afterEach(() => picker.stop());

const modes = {
  requestMode: 'FULL_DUPLEX_STREAMED',
  responseMode: 'FULL_DUPLEX_STREAMED',
} as const;
const body = JSON.stringify({ model: 'm', stream: true, prompt: 'What is new?' });

async function picked(headers: Record<string, string> = {}): Promise<ProtocolStream> {
  const stream = picker.client().open();
  stream.requestHeaders({ 'content-type': 'application/json', ...headers }, modes);
  stream.requestBody(body, true);
  await stream.reply();
  await stream.reply();
  return stream;
}

async function answers(stream: ProtocolStream, ...chunks: string[]): Promise<void> {
  for (const [i, chunk] of chunks.entries()) {
    stream.responseBody(chunk, i === chunks.length - 1);
    await stream.reply();
  }
}

function settled(): Promise<unknown> {
  return waitUntil(() => picker.scheduler.open.size === 0, { what: 'the releases' });
}

const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;

describe('the first token', () => {
  const real = event({ choices: [{ delta: { content: 'Hi' } }] });

  test('is the first delta with text, and is noted before the answer ends', async () => {
    const stream = await picked();
    stream.responseHeaders({ 'content-type': 'text/event-stream' });
    await stream.reply();
    const before = [
      ': ping\n\n',
      event({ choices: [{ delta: { role: 'assistant', content: '' } }] }),
    ];
    for (const chunk of [...before, real.slice(0, 12)]) {
      stream.responseBody(chunk, false);
      await stream.reply();
      expect(picker.scheduler.firstTokens).toEqual([]);
    }
    stream.responseBody(real.slice(12), false);
    await stream.reply();
    expect(picker.scheduler.firstTokens).toEqual([0]);
    expect(picker.scheduler.open.size).toBe(1);
  });

  test('is in no answer that is an error, whoever made it', async () => {
    for (const headers of [{ 'x-envoy-upstream-service-time': '2' }, {}]) {
      const stream = await picked();
      stream.responseHeaders({ ...headers, ':status': '400' });
      await stream.reply();
      await answers(stream, real);
    }
    await settled();
    expect(picker.scheduler.firstTokens).toEqual([]);
  });

  test('is not told by headers where bodies are hidden', async () => {
    const stream = picker.client().open();
    stream.requestHeaders({}, { requestMode: 'NONE', responseMode: 'NONE' });
    await stream.reply();
    stream.responseHeaders({ 'content-type': 'text/event-stream' });
    await stream.reply();
    expect(picker.scheduler.firstTokens).toEqual([]);
  });
});

test.each([
  ['nested', [event({ response: { usage: { output_tokens: 34 } } })], 34],
  [
    'split',
    [
      event({ type: 'message_start', message: { usage: { input_tokens: 900, output_tokens: 1 } } }),
      event({ type: 'message_delta', usage: { output_tokens: 57 } }),
    ],
    57,
  ],
  ['cut and without the blank', ['data:{"usage":{"compl', 'etion_tokens":7}}\n\n'], 7],
])('usage that is %s is found', async (_, chunks, outputTokens) => {
  const stream = await picked();
  stream.responseHeaders({ 'content-type': 'text/event-stream' });
  await stream.reply();
  await answers(stream, ...chunks);
  await settled();
  expect(picker.scheduler.released[0]?.outcome.outputTokens).toBe(outputTokens);
});

test('two streams of one request that both see the usage count it once', async () => {
  const streams = [await picked({ 'x-request-id': 'a' }), await picked({ 'x-request-id': 'a' })];
  expect(picker.scheduler.requests).toHaveLength(1);
  for (const stream of streams) {
    stream.responseHeaders({});
    await stream.reply();
  }
  for (const stream of streams) await answers(stream, event({ usage: { completion_tokens: 9 } }));
  await settled();
  expect(picker.counters.get('output_tokens')).toBe(9);
  expect(picker.scheduler.released.map(({ outcome }) => outcome.outputTokens)).toEqual([9]);
});

describe('an answer that the gateway made itself', () => {
  test('withdraws what the pick entered, and is no first token', async () => {
    const stream = await picked();
    stream.responseHeaders({ ':status': '429', 'x-envoy-ratelimited': 'true' });
    await stream.reply();
    await answers(stream, 'local_rate_limited');
    await settled();
    expect(picker.scheduler.withdrawn).toEqual([0]);
    expect(picker.scheduler.failed).toEqual([]);
    expect(picker.scheduler.firstTokens).toEqual([]);
    expect(picker.counters.get('gateway_answers')).toBe(1);
  });

  test('is told from the engine’s', async () => {
    const stream = await picked();
    stream.responseHeaders({ ':status': '429', 'x-envoy-upstream-service-time': '2' });
    await stream.reply();
    await answers(stream, 'engine is full');
    await settled();
    expect(picker.scheduler.withdrawn).toEqual([]);
    expect(picker.counters.get('gateway_answers')).toBe(0);
  });

  test('tells of an endpoint that cannot be reached, by its details or by its words', async () => {
    const byDetails = await picked();
    byDetails.responseHeaders(
      { ':status': '503' },
      {
        attributes: {
          'envoy.filters.http.ext_proc': struct({
            'upstream.address': '10.0.0.1:8000',
            'response.code_details': 'upstream_reset_before_response_started{connection_failure}',
          }),
        },
      },
    );
    await byDetails.reply();
    const byWords = await picked();
    byWords.responseHeaders({ ':status': '503', 'content-type': 'text/plain' });
    await byWords.reply();
    await answers(
      byWords,
      'upstream connect error or disconnect/reset before headers. reset reason: connection failure',
    );
    expect(picker.scheduler.failed).toEqual([0, 1]);
    const full = await picked();
    full.responseHeaders({ ':status': '503', 'x-envoy-overloaded': 'true' });
    await full.reply();
    await answers(
      full,
      'upstream connect error or disconnect/reset before headers. reset reason: overflow',
    );
    expect(picker.scheduler.failed).toEqual([0, 1]);
    expect(picker.counters.get('upstream_failures')).toBe(2);
    expect(picker.counters.get('served_as_picked')).toBe(0);
  });

  test('without any request before it is no error of the stream', async () => {
    const stream = picker.client().open();
    stream.responseHeaders({ ':status': '401' });
    expect((await stream.reply()).response).toBe('response_headers');
    expect(picker.counters.get('handler_errors')).toBe(0);
  });
});

test('a request served by another pool is counted, and said once with both names', async () => {
  picker.scheduler.poolOf = () => 'ns/other';
  for (let i = 0; i < 3; i++) {
    const stream = await picked();
    stream.responseHeaders(
      {},
      {
        metadata_context: {
          filter_metadata: {
            'envoy.lb': struct({ 'x-gateway-destination-endpoint-served': '10.9.0.1:8000' }),
          },
        },
      },
    );
    await stream.reply();
  }
  expect(picker.scheduler.moved).toHaveLength(3);
  expect(picker.counters.get('served_by_other_pool')).toBe(3);
  const said = picker.logged.filter((line) => line.served !== undefined);
  expect(said).toHaveLength(1);
  expect(said[0]).toMatchObject({ asked: 'ns/pool', served: 'ns/other' });
  expect(said[0]!.peer).not.toBe('');
});

test('calls that compute nothing are picked for and say so', async () => {
  const computes: boolean[] = [];
  for (const path of [
    '/v1/messages?beta=true',
    '/v1/messages/count_tokens',
    '/v1/chat/completions/render',
    '/tokenize',
    '/v1/unknown',
  ]) {
    await picked({ ':path': path });
    computes.push(picker.scheduler.requests.at(-1)!.computes);
  }
  expect(computes).toEqual([true, false, false, false, true]);
});
