/** The responses that the picker gives in an engine's place. */
import { waitUntil } from '@leadsman/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ProtocolStream, Reply } from './client.ts';
import { type PickerUnderTest, startPickerUnderTest } from './picker-under-test.ts';
import { rawCall } from './raw-call.ts';

let picker: PickerUnderTest;
beforeEach(async () => {
  picker = await startPickerUnderTest();
});
afterEach(() => picker.stop());

const json = { 'content-type': 'application/json' };

function ask(headers: Record<string, string> = {}): ProtocolStream {
  const stream = picker.client().open();
  stream.requestHeaders(headers, { requestMode: 'NONE', endOfStream: true });
  return stream;
}

function read(reply: Reply) {
  const refusal = reply.immediate_response!;
  const headers = Object.fromEntries(
    refusal.headers.set_headers.map(({ header }) => [header.key, header.raw_value.toString()]),
  );
  return {
    status: refusal.status.code,
    headers,
    error: JSON.parse(refusal.body.toString()).error as Record<string, unknown>,
    grpcStatus: refusal.grpc_status?.status,
  };
}

const answers = [
  ['no_endpoint', '', 503, 14, 'rejected-no-endpoints'],
  ['no_endpoint', 'pool_empty', 503, 14, 'rejected-no-endpoints'],
  ['unknown_pool', 'unknown_pool', 503, 14, 'rejected-no-endpoints'],
  ['shed', 'saturated', 429, 8, 'rejected-saturated'],
  ['bad_request', 'routing_strategy', 400, 3, undefined],
] as const;

describe.each(answers)('%s, %s', (status, reason, httpStatus, grpcStatus, dropped) => {
  beforeEach(() => {
    picker.scheduler.answer = (_, into) => {
      into.status = status;
      into.reason = reason;
      into.retryAfterS = status === 'shed' ? 2 : 0;
    };
  });

  test('is a JSON error in the form of OpenAI, with its reason in a header', async () => {
    const refusal = read(await ask().reply());
    expect(refusal.status).toBe(httpStatus);
    expect(refusal.headers['content-type']).toBe('application/json');
    expect(refusal.headers['x-leadsman-reason']).toBe(reason === '' ? status : reason);
    expect(refusal.headers['x-llm-d-request-dropped-reason']).toBe(dropped);
    expect(refusal.error).toMatchObject({
      message: expect.any(String),
      type: expect.any(String),
      param: null,
      code: reason === '' ? status : reason,
    });
    expect(refusal.headers['retry-after']).toBe(status === 'shed' ? '2' : undefined);
    expect(refusal.grpcStatus).toBeUndefined();
  });

  test('carries a gRPC status for gRPC clients', async () => {
    const refusal = read(await ask({ 'content-type': 'application/grpc+proto' }).reply());
    expect(refusal.grpcStatus).toBe(grpcStatus);
  });

  test('ends the exchange well, counts nothing as in flight', async () => {
    const stream = ask();
    await stream.reply();
    expect((await stream.status()).code).toBe(0);
    expect(picker.scheduler.open.size).toBe(0);
  });
});

test('a 429 says when to try again, whatever the policy', async () => {
  picker.scheduler.answer = (_, into) => {
    into.status = 'shed';
    into.retryAfterS = 0;
  };
  expect(read(await ask().reply()).headers['retry-after']).toBe('1');
});

test('a pool without endpoints is said once, as the gateway may mean another', async () => {
  picker.scheduler.answer = (_, into) => {
    into.status = 'no_endpoint';
    into.reason = 'pool_empty';
  };
  for (let i = 0; i < 3; i++) await ask().reply();
  expect(picker.logged.filter((line) => line.pool === 'ns/pool')).toHaveLength(1);
});

test('a body above the cap is refused with 413 when so configured, by length and by bytes', async () => {
  await picker.stop();
  picker = await startPickerUnderTest((options) => {
    options.exchange.bodyBytesMax = 1_000;
    options.exchange.bodyAboveMax = 'refuse';
  });
  for (const mode of ['BUFFERED', 'FULL_DUPLEX_STREAMED'] as const) {
    const announced = picker.client().open();
    announced.requestHeaders({ ...json, 'content-length': '1001' }, { requestMode: mode });
    expect(read(await announced.reply()).status).toBe(413);
    const sent = picker.client().open();
    sent.requestHeaders(json, { requestMode: mode });
    if (mode === 'BUFFERED') await sent.reply();
    sent.requestBody(Buffer.alloc(1_001, 'x'), true);
    expect(read(await sent.reply()).error.code).toBe('too_large');
  }
});

test('a pick that takes too long is refused with 504 when so configured', async () => {
  await picker.stop();
  picker = await startPickerUnderTest((options) => {
    options.exchange.decisionTimeoutMs = 100;
    options.exchange.atDecisionTimeout = 'refuse';
  });
  const stream = picker.client().open();
  stream.requestHeaders(json, { requestMode: 'FULL_DUPLEX_STREAMED' });
  const refusal = read(await stream.reply());
  expect(refusal.status).toBe(504);
  expect(refusal.headers['x-llm-d-request-dropped-reason']).toBe('rejected-ttl-expired');
  expect(picker.scheduler.open.size).toBe(0);
});

describe('an error of ours', () => {
  test('on the request is a JSON 500 at once, and the stream is closed', async () => {
    picker.scheduler.answer = () => {
      throw new Error('a bug');
    };
    const stream = picker.client().open();
    stream.requestHeaders(json, { requestMode: 'FULL_DUPLEX_STREAMED' });
    stream.requestBody('{}', true);
    const refusal = read(await stream.reply());
    expect(refusal.status).toBe(500);
    expect((await stream.status()).code).toBe(0);
    expect(picker.counters.get('handler_errors')).toBe(1);
  });

  test('after a body that was read later is a JSON 500 as well', async () => {
    picker.scheduler.answer = () => {
      throw new Error('a bug');
    };
    const stream = picker.client().open();
    stream.requestHeaders(json, { requestMode: 'BUFFERED' });
    await stream.reply();
    stream.requestBody(`{"prompt":"${'x'.repeat(2_000_000)}"}`, true);
    expect(read(await stream.reply()).status).toBe(500);
  });

  test('does not touch the next exchange', async () => {
    let calls = 0;
    picker.scheduler.answer = (_, into) => {
      if (calls++ === 0) throw new Error('a bug');
      into.status = 'picked';
      into.destination = '10.0.0.2:8000';
    };
    await ask().reply();
    expect((await ask().reply()).response).toBe('request_headers');
  });
});

test('an unparseable body is picked for, not refused', async () => {
  const stream = picker.client().open();
  stream.requestHeaders(json, { requestMode: 'FULL_DUPLEX_STREAMED' });
  stream.requestBody('{"model": oops', true);
  expect((await stream.reply()).response).toBe('request_headers');
  expect(picker.scheduler.requests[0]?.model).toBe('');
});

test('a message that is no protobuf ends the call with INVALID_ARGUMENT', async () => {
  const call = await rawCall(picker.port);
  call.write(Buffer.from([0, 0, 0, 0, 2, 0x12, 0x7f]));
  expect(await call.grpcStatus).toBe('3');
  await waitUntil(() => picker.counters.get('malformed_messages') === 1, { what: 'the count' });
  call.close();
});
