/** Full duplex through real Envoy: large, compressed, multipart and streamed bodies, trailers. */
import { randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { requireEnvoy, waitUntil } from '@leadsman/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from './gateway.ts';
import { type PickerUnderTest, startPickerUnderTest } from './picker-under-test.ts';
import { completionJson, sha256, startUpstream, type Upstream } from './upstream.ts';

describe.skipIf(!requireEnvoy())('FULL_DUPLEX_STREAMED', () => {
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
      // Envoy then sees the trailers of HTTP/1.1 clients.
      edit: (text) =>
        text
          .replace(
            /( *)stat_prefix: gateway\n/,
            '$1stat_prefix: gateway\n$1http_protocol_options: { enable_trailers: true }\n',
          )
          // And lets the engine see them, and its own pass.
          .replace(
            /( *)- name: pool\n/,
            '$1- name: pool\n$1  http_protocol_options: { enable_trailers: true }\n',
          ),
    });
  });
  afterAll(async () => {
    await gateway?.stop();
    await picker?.stop();
    await upstream?.stop();
  });

  async function post(body: Buffer | string, headers: Record<string, string>) {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers,
      body,
    });
    await response.text();
    const seen = upstream.requests.at(-1)!;
    return { status: response.status, seen, picked: picker.scheduler.requests.at(-1)! };
  }
  const json = { 'content-type': 'application/json' };

  test('20 MB arrive unharmed, and 40 MB, which are above the cap', async () => {
    for (const bytes of [20_000_000, 40_000_000]) {
      const body = Buffer.from(JSON.stringify({ model: 'big', prompt: 'p'.repeat(bytes) }));
      const { status, seen, picked } = await post(body, json);
      expect([status, seen.bytes]).toEqual([200, body.length]);
      expect(seen.sha256).toBe(sha256(body));
      expect(picked.model).toBe(bytes < 32_000_000 ? 'big' : '');
    }
    expect(picker.counters.get('picks_without_body')).toBe(1);
  }, 120_000);

  describe('compressed bodies', () => {
    const body = JSON.stringify({ model: 'zipped', messages: [{ role: 'user', content: 'hi' }] });
    const cases: [string, string, Buffer, string][] = [
      ['gzip', 'gzip', gzipSync(body), 'zipped'],
      ['zstd', 'zstd', zstdCompressSync(body), ''],
      ['a false claim', 'gzip', Buffer.from(body), ''],
      ['a bomb', 'gzip', gzipSync(Buffer.alloc(100_000_000, 0x20)), ''],
    ];
    test.each(cases)('%s: forwarded as it came, read where that is possible', async (...row) => {
      const [, encoding, bytes, model] = row;
      const { status, seen, picked } = await post(bytes, { ...json, 'content-encoding': encoding });
      expect(status).toBe(200);
      expect(seen.sha256).toBe(sha256(bytes));
      expect(seen.headers['content-encoding']).toBe(encoding);
      expect(picked.model).toBe(model);
    });
  });

  test('multipart is never read as JSON and arrives as it was, well-formed or not', async () => {
    const file = Buffer.concat([
      randomBytes(150_000),
      Buffer.from('\r\n--look-alike\r\n--boundary'),
      randomBytes(150_000),
    ]);
    const wellFormed = Buffer.concat([
      Buffer.from('--boundary\r\ncontent-disposition: form-data; name="file"\r\n\r\n'),
      file,
      Buffer.from('\r\n--boundary\r\ncontent-disposition: form-data; name="model"\r\n\r\nwhisper'),
      Buffer.from('\r\n--boundary--\r\n'),
    ]);
    for (const body of [wellFormed, file]) {
      const type = { 'content-type': 'multipart/form-data; boundary=boundary' };
      const { status, seen } = await post(body, type);
      expect(status).toBe(200);
      expect(seen.sha256).toBe(sha256(body));
    }
  });

  test('a body that is no JSON although it says so is passed on', async () => {
    const { status, seen } = await post('{"model": oops', json);
    expect([status, seen.body]).toEqual([200, '{"model": oops']);
  });

  function chunked(parts: (string | Buffer)[], trailers?: Record<string, string>) {
    return new Promise<{ status: number; body: string; trailers: object }>((resolve, reject) => {
      const request = httpRequest(
        `${gateway.url}/v1/completions`,
        {
          method: 'POST',
          headers: { ...json, te: 'trailers', ...(trailers && { trailer: 'x-checksum' }) },
        },
        (response) => {
          let body = '';
          response.setEncoding('utf8');
          response.on('data', (chunk: string) => {
            body += chunk;
          });
          response.on('end', () =>
            resolve({ status: response.statusCode!, body, trailers: response.trailers }),
          );
        },
      );
      request.on('error', reject);
      for (const part of parts) request.write(part);
      if (trailers !== undefined) request.addTrailers(trailers);
      request.end();
    });
  }

  test('chunks of 10 bytes and 100 KB and an empty end arrive joined', async () => {
    const parts = ['{"prompt":', `"${'x'.repeat(100_000)}"}`];
    const { status } = await chunked(parts);
    expect(status).toBe(200);
    expect(upstream.requests.at(-1)!.sha256).toBe(sha256(parts.join('')));
  });

  test('a request that ends in trailers is read to its end and answered', async () => {
    const { status } = await chunked(['{"model":"t"}'], { 'x-checksum': '42' });
    expect(status).toBe(200);
    expect(picker.scheduler.requests.at(-1)?.model).toBe('t');
    expect(upstream.requests.at(-1)!.body).toBe('{"model":"t"}');
    expect(upstream.requests.at(-1)!.trailers).toEqual({ 'x-checksum': '42' });
  });

  test('a response that ends in trailers passes with them, and its end is noticed', async () => {
    const plainAnswer = upstream.respond;
    upstream.respond = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', trailer: 'x-late' });
      response.write('{"usage":{"completion_tokens":5}}');
      response.addTrailers({ 'x-late': 'yes' });
      response.end();
    };
    const { status, body, trailers } = await chunked(['{}']);
    upstream.respond = plainAnswer;
    expect([status, body]).toEqual([200, '{"usage":{"completion_tokens":5}}']);
    expect(trailers).toEqual({ 'x-late': 'yes' });
    await waitUntil(() => picker.scheduler.open.size === 0, { what: 'the release' });
    expect(picker.scheduler.released.at(-1)?.outcome).toEqual({ outputTokens: 5, aborted: false });
  });

  test('events of a stream reach the client as the engine sends them', async () => {
    let release = (): void => {};
    upstream.respond = (_, response) => {
      response.setHeader('content-type', 'text/event-stream');
      response.write('data: {"choices":[{"text":"é"}]}\n\n');
      release = () => response.end('data: {"choices":[],"usage":{"completion_tokens":2}}\n\n');
    };
    const response = await fetch(`${gateway.url}/v1/completions`, {
      method: 'POST',
      headers: json,
      body: '{"stream":true}',
    });
    const reader = response.body!.getReader();
    const first = await reader.read();
    expect(Buffer.from(first.value!).toString()).toContain('"é"');
    // The first event is here while the engine still holds the second one back.
    expect(picker.scheduler.open.size).toBe(1);
    release();
    const second = await reader.read();
    expect(Buffer.from(second.value!).toString()).toContain('completion_tokens');
    await waitUntil(() => picker.scheduler.open.size === 0, { what: 'the release' });
    expect(picker.scheduler.released.at(-1)?.outcome).toEqual({ outputTokens: 2, aborted: false });
  });

  test('a client that hangs up within a stream gives its place back, as aborted', async () => {
    upstream.respond = (_, response) => {
      response.setHeader('content-type', 'text/event-stream');
      response.write('data: {"choices":[{"text":"a"}]}\n\n');
    };
    const abort = new AbortController();
    const response = await fetch(`${gateway.url}/v1/completions`, {
      method: 'POST',
      headers: json,
      body: '{"stream":true}',
      signal: abort.signal,
    });
    await response.body!.getReader().read();
    abort.abort();
    await waitUntil(() => picker.scheduler.open.size === 0, { what: 'the release' });
    expect(picker.scheduler.released.at(-1)?.outcome.aborted).toBe(true);
    upstream.respond = (_, reply) => reply.end(completionJson);
  });

  test('twenty bodies of 8 MB at once do not stall the loop', async () => {
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'w '.repeat(4_000_000) }] });
    let answered = 0;
    let done = false;
    const probes = (async () => {
      while (!done) {
        expect(picker.health.ready).toBe(true);
        await new Promise((resolve) => setTimeout(resolve, 20));
        answered++;
      }
    })();
    const posts = Array.from({ length: 20 }, () => post(body, json));
    const results = await Promise.all(posts);
    done = true;
    await probes;
    expect(results.every(({ status }) => status === 200)).toBe(true);
    expect(answered).toBeGreaterThan(5);
  }, 120_000);
});
