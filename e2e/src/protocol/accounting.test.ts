/** Requests in flight are counted once and given back once, whatever the end. */
import {
  createSharedRequestsBuffer,
  SharedRequests,
} from '@leadsman/ext-proc/in-flight/shared-requests';
import { waitUntil } from '@leadsman/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { destinationIn, type ProtocolStream } from './client.ts';
import { type PickerUnderTest, startPickerUnderTest } from './picker-under-test.ts';

let picker: PickerUnderTest;
beforeEach(async () => {
  picker = await startPickerUnderTest();
});
afterEach(() => picker.stop());

const json = { 'content-type': 'application/json' };
const modes = {
  requestMode: 'FULL_DUPLEX_STREAMED',
  responseMode: 'FULL_DUPLEX_STREAMED',
} as const;

/** Waits until nothing is in flight and no call is open. */
function settled(): Promise<unknown> {
  return waitUntil(() => picker.scheduler.open.size === 0 && picker.server.openCalls === 0, {
    what: 'all reservations to be given back',
  });
}

async function picked(headers: Record<string, string> = json): Promise<ProtocolStream> {
  const stream = picker.client().open();
  stream.requestHeaders(headers, modes);
  stream.requestBody('{"prompt":"x"}', true);
  await stream.reply();
  await stream.reply();
  return stream;
}

/** Ends of an exchange in each state it can be in, and what the scheduler must then be told. */
const ends: [
  string,
  () => Promise<void>,
  { outputTokens: number; aborted: boolean } | undefined,
][] = [
  [
    'reset before the body is complete',
    async () => {
      const stream = picker.client().open();
      stream.requestHeaders(json, modes);
      stream.requestBody('{"prompt":', false);
      await waitUntil(() => picker.server.openCalls === 1, { what: 'the call' });
      stream.reset();
    },
    undefined,
  ],
  [
    'reset after the pick',
    async () => (await picked()).reset(),
    { outputTokens: -1, aborted: true },
  ],
  [
    'half-closed after the pick',
    async () => (await picked()).halfClose(),
    { outputTokens: -1, aborted: true },
  ],
  [
    'reset within the response',
    async () => {
      const stream = await picked();
      stream.responseHeaders({});
      await stream.reply();
      stream.responseBody('{"usage":{"completion_tokens":3', false);
      await stream.reply();
      stream.reset();
    },
    { outputTokens: 3, aborted: true },
  ],
  [
    'reset after the response ended',
    async () => {
      const stream = await picked();
      stream.responseHeaders({});
      await stream.reply();
      stream.responseBody('{"usage":{"completion_tokens":3}}', true);
      await stream.reply();
      stream.reset();
    },
    { outputTokens: 3, aborted: false },
  ],
  [
    'response without a body',
    async () => {
      const stream = await picked();
      stream.send({ response_headers: { headers: {}, end_of_stream: true } });
      await stream.status();
    },
    { outputTokens: -1, aborted: false },
  ],
  [
    'connection lost',
    async () => {
      await picked();
      await picker.server.close();
    },
    { outputTokens: -1, aborted: true },
  ],
];

test.each(ends)('%s', async (_, end, outcome) => {
  await end();
  await settled();
  expect(picker.scheduler.released.map((entry) => entry.outcome)).toEqual(
    outcome === undefined ? [] : [outcome],
  );
  expect(picker.server.requestsInFlight).toBe(0);
});

test('a reset while a body is still being read leaves nothing behind', async () => {
  const stream = picker.client().open();
  stream.requestHeaders(json, { requestMode: 'BUFFERED' });
  await stream.reply();
  stream.requestBody(`{"prompt":"${'x'.repeat(3_000_000)}"}`, true);
  stream.reset();
  await settled();
  expect(picker.scheduler.released.length).toBe(picker.scheduler.requests.length);
});

describe('several streams with one x-request-id', () => {
  const headers = { ...json, 'x-request-id': 'same' };

  test('are one request: one pick, one destination, one release at the last end', async () => {
    picker.scheduler.destinations = ['10.0.0.1:1', '10.0.0.2:2', '10.0.0.3:3'];
    const streams = [];
    for (let i = 0; i < 3; i++) {
      const stream = picker.client().open();
      stream.requestHeaders(headers, { requestMode: 'NONE', endOfStream: true });
      const reply = await stream.reply();
      expect(destinationIn(reply.request_headers?.response?.header_mutation)).toBe('10.0.0.1:1');
      streams.push(stream);
    }
    expect(picker.scheduler.requests).toHaveLength(1);
    expect(picker.counters.get('duplicate_streams')).toBe(2);
    streams[0]!.reset();
    streams[1]!.reset();
    await waitUntil(() => picker.server.openCalls === 1, { what: 'two of three to end' });
    expect(picker.scheduler.open.size).toBe(1);
    streams[2]!.reset();
    await settled();
    expect(picker.scheduler.released).toHaveLength(1);
  });

  test('are one request across worker threads, too', async () => {
    const buffer = createSharedRequestsBuffer();
    const workers = await Promise.all(
      [0, 1].map((worker) => startPickerUnderTest(() => {}, new SharedRequests(buffer, worker))),
    );
    const [one, other] = workers as [PickerUnderTest, PickerUnderTest];
    try {
      one.scheduler.destinations = ['10.0.0.1:1'];
      other.scheduler.destinations = ['10.0.0.2:2'];
      const open = async (worker: PickerUnderTest) => {
        const stream = worker.client().open();
        stream.requestHeaders(headers, { requestMode: 'NONE', endOfStream: true });
        const reply = await stream.reply();
        expect(destinationIn(reply.request_headers?.response?.header_mutation)).toBe('10.0.0.1:1');
        return stream;
      };
      const streams = [await open(one), await open(other)];
      expect(other.scheduler.requests).toEqual([]);
      expect(other.counters.get('duplicate_streams')).toBe(1);
      for (const stream of streams) stream.reset();
      await waitUntil(() => one.scheduler.open.size === 0 && other.server.openCalls === 0, {
        what: 'both streams to end',
      });
      expect(one.scheduler.released).toHaveLength(1);
      expect(other.scheduler.released).toEqual([]);
    } finally {
      for (const worker of workers) await worker.stop();
    }
  });

  test('are several requests where anything else of them differs', async () => {
    const send = async (extra: Record<string, string>, body: string) => {
      const stream = picker.client().open();
      stream.requestHeaders({ ...headers, ...extra }, modes);
      stream.requestBody(body, true);
      await stream.reply();
      await stream.reply();
    };
    // Branches of one agent: one id, prompts of their own, some of one length.
    for (const branch of ['a', 'b', 'c', 'dd']) await send({}, `{"prompt":"${branch}"}`);
    await send({ ':path': '/v1/messages' }, '{"prompt":"a"}');
    await send({ ':method': 'PUT' }, '{"prompt":"a"}');
    expect(picker.scheduler.open.size).toBe(6);
    // The same again, also cut in another way, is the same request.
    await send({}, '{"prompt":"a"}');
    const cut = picker.client().open();
    cut.requestHeaders(headers, modes);
    cut.requestBody('{"prompt"', false);
    cut.requestBody(':"a"}', true);
    await cut.reply();
    expect(picker.scheduler.open.size).toBe(6);
    expect(picker.counters.get('duplicate_streams')).toBe(2);
  });

  test('are several requests where hidden bodies have other lengths', async () => {
    for (const length of ['10', '11', '11']) {
      const stream = picker.client().open();
      stream.requestHeaders({ ...headers, 'content-length': length }, { requestMode: 'NONE' });
      await stream.reply();
    }
    expect(picker.scheduler.open.size).toBe(2);
  });

  test('are several requests where the first already has its response', async () => {
    const first = await picked(headers);
    first.responseHeaders({});
    await first.reply();
    await picked(headers);
    expect(picker.scheduler.requests).toHaveLength(2);
    expect(picker.scheduler.open.size).toBe(2);
  });
});

test('a thousand exchanges at once are all counted and all given back', async () => {
  const client = picker.client();
  const streams: ProtocolStream[] = [];
  for (let i = 0; i < 1_000; i++) {
    const stream = client.open();
    stream.requestHeaders({ 'x-request-id': `r${i}` }, { requestMode: 'NONE', endOfStream: true });
    streams.push(stream);
  }
  for (const stream of streams) await stream.reply();
  expect(picker.scheduler.open.size).toBe(1_000);
  for (const stream of streams) stream.reset();
  await settled();
  expect(picker.scheduler.released).toHaveLength(1_000);
});
