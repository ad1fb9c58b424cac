/** Every request body mode through real Envoy: the pick arrives, the bytes stay, lengths are right. */
import { requireEnvoy, waitUntil } from '@leadsman/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { destinationHeader, type Mode } from './client.ts';
import { type Gateway, startGateway, withoutBlock } from './gateway.ts';
import { type PickerUnderTest, startPickerUnderTest } from './picker-under-test.ts';
import { sha256, startUpstream, type Upstream } from './upstream.ts';

const modes: Mode[] = ['NONE', 'STREAMED', 'BUFFERED', 'BUFFERED_PARTIAL', 'FULL_DUPLEX_STREAMED'];
/** Modes in which Envoy leaves the content-length alone. */
const keepsLength = new Set<Mode>(['NONE', 'BUFFERED']);
const readsBody = new Set<Mode>(['BUFFERED', 'BUFFERED_PARTIAL', 'FULL_DUPLEX_STREAMED']);

// Odd spaces: a body that was written anew would differ in bytes and length.
const oddBody = '{ "model" :  "alias" , "prompt":"hi" }';

describe.skipIf(!requireEnvoy()).each(modes)('request_body_mode %s', (mode) => {
  let picker: PickerUnderTest;
  let upstream: Upstream;
  let gateway: Gateway;
  beforeAll(async () => {
    picker = await startPickerUnderTest();
    upstream = await startUpstream();
    picker.scheduler.destinations = [upstream.address];
    gateway = await startGateway({
      bootstrap: 'original-dst',
      pickers: [picker.port],
      plaintext: true,
      edit: (text) =>
        // The picker alone must see to it that a client does not choose.
        withoutBlock(text, '- name: strip_client_pick').replace(
          'request_body_mode: FULL_DUPLEX_STREAMED',
          `request_body_mode: ${mode}`,
        ),
    });
  });
  afterAll(async () => {
    await gateway?.stop();
    await picker?.stop();
    await upstream?.stop();
  });

  async function post(body: string | Buffer, headers: Record<string, string> = {}) {
    const response = await fetch(`${gateway.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
    return {
      status: response.status,
      text: await response.text(),
      seen: upstream.requests.at(-1)!,
    };
  }

  test('the body arrives as it was sent, with one right length or none', async () => {
    const { status, seen } = await post(oddBody);
    expect(status).toBe(200);
    expect(seen.body).toBe(oddBody);
    const lengths = seen.rawHeaders.filter((name) => name.toLowerCase() === 'content-length');
    expect(lengths).toHaveLength(keepsLength.has(mode) ? 1 : 0);
    if (keepsLength.has(mode)) {
      expect(seen.headers['content-length']).toBe(String(oddBody.length));
    } else {
      expect(seen.headers['transfer-encoding']).toBe('chunked');
    }
    expect(picker.scheduler.requests.at(-1)?.model).toBe(readsBody.has(mode) ? 'alias' : '');
  });

  test('a destination that the client names is not followed', async () => {
    const { status, seen } = await post(oddBody, { [destinationHeader]: '127.0.0.1:9' });
    expect(status).toBe(200);
    const names = seen.rawHeaders.filter((name) => name.toLowerCase() === destinationHeader);
    expect(names).toHaveLength(1);
    expect(seen.headers[destinationHeader]).toBe(upstream.address);
  });

  test('a GET is picked for, and everything is given back at its end', async () => {
    const response = await fetch(`${gateway.url}/v1/models`);
    expect(response.status).toBe(200);
    await response.text();
    await waitUntil(() => picker.scheduler.open.size === 0, { what: 'the release' });
    expect(picker.scheduler.released.at(-1)?.outcome).toEqual({ outputTokens: 7, aborted: false });
  });

  test('no endpoint is a JSON 503 with its reason, and no engine hears of it', async () => {
    const before = upstream.requests.length;
    picker.scheduler.destinations = [];
    const response = await fetch(`${gateway.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', [destinationHeader]: upstream.address },
      body: oddBody,
    });
    picker.scheduler.destinations = [upstream.address];
    expect(response.status).toBe(503);
    expect(response.headers.get('x-leadsman-reason')).toBe('no_endpoint');
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toMatchObject({ error: { code: 'no_endpoint' } });
    expect(upstream.requests.length).toBe(before);
  });

  test('long bodies arrive unharmed', async () => {
    for (const bytes of [30_000, 130_000, 1_200_000, 5_000_000]) {
      const body = JSON.stringify({ model: 'm', prompt: 'p'.repeat(bytes) });
      const { status, seen } = await post(body);
      expect([status, seen.bytes]).toEqual([200, body.length]);
      expect(seen.sha256).toBe(sha256(body));
    }
  }, 60_000);
});
