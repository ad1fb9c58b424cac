/** What a gateway says about endpoints and pools, and what the picker makes of it. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { destinationIn, destinationInMetadata, headerMap, type Reply, struct } from './client.ts';
import { type PickerUnderTest, startPickerUnderTest } from './picker-under-test.ts';

let picker: PickerUnderTest;
beforeEach(async () => {
  picker = await startPickerUnderTest();
  picker.scheduler.destinations = ['10.0.0.1:8000', '10.0.0.2:8000'];
});
afterEach(() => picker.stop());

const plain = { requestMode: 'NONE', endOfStream: true } as const;

describe('subset hint', () => {
  async function ask(hint: string | string[] | undefined): Promise<Reply> {
    const stream = picker.client().open();
    const metadata =
      hint === undefined
        ? { 'envoy.lb': struct({ other: 'x' }) }
        : { 'envoy.lb.subset_hint': struct({ 'x-gateway-destination-endpoint-subset': hint }) };
    stream.requestHeaders({}, { ...plain, metadata });
    return stream.reply();
  }
  const subsetSeen = () => picker.scheduler.requests.at(-1)?.subset;

  test('a list is the subset', async () => {
    const reply = await ask(['10.0.0.2:8000', '10.0.0.9:8000']);
    expect(subsetSeen()).toEqual(['10.0.0.2:8000', '10.0.0.9:8000']);
    expect(destinationIn(reply.request_headers?.response?.header_mutation)).toBe('10.0.0.2:8000');
  });

  test('a single string is a list of its entries', async () => {
    await ask('10.0.0.1:8000, [fd00::1]:8000');
    expect(subsetSeen()).toEqual(['10.0.0.1:8000', '[fd00::1]:8000']);
  });

  test('an empty list allows nothing: 503', async () => {
    expect((await ask([])).immediate_response?.status.code).toBe(503);
    expect(subsetSeen()).toEqual([]);
  });

  test('a list that no endpoint is on: 503', async () => {
    expect((await ask(['10.9.9.9:1'])).immediate_response?.status.code).toBe(503);
  });

  test('no hint is the whole pool', async () => {
    await ask(undefined);
    expect(subsetSeen()).toBeUndefined();
  });
});

test('header and metadata carry the same value, a list and IPv6 included', async () => {
  for (const destination of ['10.0.0.1:8000,10.0.0.2:8000', '[fd00::1]:8000']) {
    picker.scheduler.destinations = [destination];
    const stream = picker.client().open();
    stream.requestHeaders({}, plain);
    const reply = await stream.reply();
    expect(destinationIn(reply.request_headers?.response?.header_mutation)).toBe(destination);
    expect(destinationInMetadata(reply)).toBe(destination);
  }
});

test('a GET without a body and without an endpoint is 503', async () => {
  picker.scheduler.destinations = [];
  const stream = picker.client().open();
  stream.requestHeaders({ ':method': 'GET', ':path': '/v1/models' }, plain);
  expect((await stream.reply()).immediate_response?.status.code).toBe(503);
});

describe('the endpoint that served', () => {
  async function serve(extra: object): Promise<void> {
    const stream = picker.client().open();
    stream.requestHeaders({}, plain);
    await stream.reply();
    stream.responseHeaders({}, extra);
    await stream.reply();
  }
  const metadata = (served: string) => ({
    metadata_context: {
      filter_metadata: {
        'envoy.lb': struct({ 'x-gateway-destination-endpoint-served': served }),
      },
    },
  });
  const counts = () => [
    picker.counters.get('served_as_picked'),
    picker.counters.get('served_elsewhere'),
  ];

  test('is compared with the pick, from metadata or from the attribute', async () => {
    picker.scheduler.destinations = ['10.0.0.1:8000'];
    await serve(metadata('10.0.0.1:8000'));
    await serve(metadata('10.0.0.2:8000'));
    await serve({
      attributes: {
        'envoy.filters.http.ext_proc': struct({ 'upstream.address': '10.0.0.1:8000' }),
      },
    });
    expect(counts()).toEqual([2, 1]);
    // What the gateway sent elsewhere is in flight there.
    expect(picker.scheduler.moved).toEqual([{ ticket: 1, destination: '10.0.0.2:8000' }]);
  });

  test('is not compared where the gateway does not tell', async () => {
    await serve({});
    expect(counts()).toEqual([0, 0]);
  });
});

describe('the pool of an exchange', () => {
  beforeEach(() => {
    picker.server.setPools([
      { name: 'ns/chat', authorities: ['chat-picker.ns'] },
      { name: 'ns/embed', authorities: ['embed-picker.ns'] },
    ]);
  });
  async function poolOf(options: { authority?: string; pool?: string }): Promise<string> {
    const client = picker.client(
      options.authority === undefined ? {} : { authority: options.authority },
    );
    const stream = client.open(
      options.pool === undefined ? {} : { 'x-leadsman-pool': options.pool },
    );
    stream.requestHeaders({}, plain);
    const reply = await stream.reply();
    if (reply.immediate_response === undefined || reply.immediate_response === null) {
      return picker.scheduler.requests.at(-1)!.poolName;
    }
    return `${reply.immediate_response.status.code} ${reply.immediate_response.details}`;
  }

  test('is named by metadata before the authority', async () => {
    expect(await poolOf({ pool: 'ns/embed', authority: 'chat-picker.ns.svc:9002' })).toBe(
      'ns/embed',
    );
  });

  test('is told by the service in the authority', async () => {
    expect(await poolOf({ authority: 'chat-picker.ns.svc.cluster.local:9002' })).toBe('ns/chat');
  });

  test('that is unknown, or cannot be told, is a clear error', async () => {
    expect(await poolOf({ pool: 'ns/none' })).toBe('503 leadsman_unknown_pool');
    expect(await poolOf({ authority: 'some_cluster' })).toBe('503 leadsman_unknown_pool');
  });

  test('is the only one where there is one', async () => {
    picker.server.setPools([{ name: 'ns/chat', authorities: [] }]);
    expect(await poolOf({ authority: 'some_cluster' })).toBe('ns/chat');
  });
});

describe('headers of the conformance suite', () => {
  const selection = { 'test-epp-endpoint-selection': '10.0.0.2:8000' };
  const servedMetadata = {
    metadata_context: {
      filter_metadata: {
        'envoy.lb': struct({ 'x-gateway-destination-endpoint-served': '10.0.0.2:8000' }),
      },
    },
  };

  test('steer the pick and name the served endpoint with the flag', async () => {
    await picker.stop();
    picker = await startPickerUnderTest((options) => {
      options.exchange.conformance = true;
    });
    picker.scheduler.destinations = ['10.0.0.1:8000', '10.0.0.2:8000'];
    const stream = picker.client().open();
    stream.requestHeaders(selection, plain);
    const reply = await stream.reply();
    expect(destinationIn(reply.request_headers?.response?.header_mutation)).toBe('10.0.0.2:8000');
    stream.responseHeaders({}, servedMetadata);
    const response = (await stream.reply()).response_headers?.response?.header_mutation;
    expect(response?.set_headers[0]?.header.key).toBe('x-conformance-test-served-endpoint');
    expect(response?.set_headers[0]?.header.raw_value.toString()).toBe('10.0.0.2:8000');
  });

  test('have no effect without it', async () => {
    const stream = picker.client().open();
    stream.requestHeaders(selection, plain);
    await stream.reply();
    expect(picker.scheduler.requests[0]?.subset).toBeUndefined();
    stream.send({
      response_headers: { headers: headerMap({ ':status': '200' }) },
      ...servedMetadata,
    });
    expect((await stream.reply()).response_headers?.response ?? null).toBeNull();
  });
});
