/** A filter that keeps from the picker what it needs is noticed: a counter and a line in the log. */
import { requireEnvoy, waitUntil } from '@leadsman/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from './gateway.ts';
import { type PickerUnderTest, startPickerUnderTest } from './picker-under-test.ts';
import { startUpstream, type Upstream } from './upstream.ts';

let picker: PickerUnderTest;
beforeEach(async () => {
  picker = await startPickerUnderTest();
});
afterEach(() => picker.stop());

const settings = () => picker.logged.map(({ setting }) => setting);

test('a filter that shows everything is not complained of', async () => {
  const modes = { requestMode: 'FULL_DUPLEX_STREAMED', responseMode: 'STREAMED' } as const;
  for (let i = 0; i < 150; i++) {
    const stream = picker.client().open();
    stream.requestHeaders({}, { ...modes, endOfStream: true });
    await stream.reply();
    stream.send({ response_headers: { headers: {}, end_of_stream: true } });
    await stream.status();
  }
  expect(picker.logged).toEqual([]);
  expect(picker.counters.get('exchanges_headers_unseen')).toBe(0);
  expect(picker.counters.get('exchanges_responses_unseen')).toBe(0);
});

test.each(['request_body', 'response_headers'])(
  'an exchange that begins with %s has no pick, which is counted and logged',
  async (part) => {
    const stream = picker.client().open();
    stream.send({
      [part]: {},
      protocol_config: { request_body_mode: 'STREAMED', response_body_mode: 'STREAMED' },
    });
    expect((await stream.reply()).response).toBe(part);
    expect(picker.counters.get('exchanges_headers_unseen')).toBe(1);
    expect(picker.logged).toEqual([
      {
        setting: 'request_header_mode',
        peer: '127.0.0.1',
        times: 1,
        message: expect.stringContaining('request_header_mode: SEND'),
      },
    ]);
  },
);

test('a fault of the scheduler is answered with 500, and its cause is in the log', async () => {
  const cause = new Error('a table is broken');
  picker.scheduler.answer = () => {
    throw cause;
  };
  const stream = picker.client().open();
  stream.requestHeaders({}, { requestMode: 'NONE', responseMode: 'STREAMED', endOfStream: true });
  expect((await stream.reply()).immediate_response?.status.code).toBe(500);
  expect(picker.logged).toMatchObject([{ err: cause, place: 'pick' }]);
});

describe.skipIf(!requireEnvoy())('behind Envoy', () => {
  let engine: Upstream;
  let gateway: Gateway | undefined;
  beforeEach(async () => {
    engine = await startUpstream();
    picker.scheduler.destinations = [engine.address];
  });
  afterEach(async () => {
    await gateway?.stop();
    await engine.stop();
  });

  /** Sends requests through an Envoy whose filter has these modes instead of ours. */
  async function post(modes: Record<string, string>, requests: number): Promise<void> {
    gateway = await startGateway({
      bootstrap: 'subset',
      pickers: [picker.port],
      pool: [engine.port, engine.port],
      plaintext: true,
      edit: (text) =>
        Object.entries(modes).reduce(
          (edited, [name, mode]) => edited.replace(new RegExp(`${name}: .*`), `${name}: ${mode}`),
          text,
        ),
    });
    for (let i = 0; i < requests; i++) {
      const init = { method: 'POST', body: '{}' };
      await (await fetch(`${gateway.url}/v1/completions`, init)).text();
    }
  }

  test('request_header_mode: SKIP', async () => {
    const request_body_mode = 'BUFFERED';
    await post({ request_header_mode: 'SKIP', request_body_mode }, 3);
    expect(picker.counters.get('picks')).toBe(0);
    expect(picker.counters.get('exchanges_headers_unseen')).toBe(3);
    expect(settings()).toEqual(['request_header_mode']);
  });

  test('response_body_mode: NONE', async () => {
    await post({ response_body_mode: 'NONE' }, 3);
    expect(picker.counters.get('exchanges_responses_unseen')).toBe(3);
    expect(settings()).toEqual(['response_body_mode']);
  });

  test('response_header_mode: SKIP, so that an exchange ends with its pick', async () => {
    const hidden = { response_header_mode: 'SKIP', response_body_mode: 'NONE' };
    await post({ ...hidden, response_trailer_mode: 'SKIP' }, 100);
    await waitUntil(() => settings().length > 1, { what: 'the line in the log' });
    expect(settings()).toEqual(['response_body_mode', 'response_header_mode']);
    expect(picker.counters.get('exchanges_unfinished')).toBe(100);
  });
});
