import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { engineProfiles } from '../engine/profiles.ts';
import { type Handler, type PageServer, servePages } from './page-server.fixture.ts';
import { VersionReader, versionBytesMax } from './version-reader.ts';

const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function serve(handler: Handler): Promise<PageServer> {
  const server = await servePages(handler);
  cleanUps.push(() => server.stop());
  return server;
}

function readerOf(port: number, options: { tokenFile?: string; nowMs?: () => number } = {}) {
  const { tokenFile = '', nowMs = () => performance.now() } = options;
  const reader = new VersionReader(
    {
      url: `http://127.0.0.1:${port}/metrics?all=1`,
      // Bounds of the metrics page, which must not be those of this one.
      timeoutMs: 60_000,
      bytesMax: 1_000_000_000,
      tokenFile,
      localAddress: '',
      tlsCaFile: '',
      tlsVerify: true,
    },
    nowMs,
  );
  cleanUps.push(() => reader.close());
  return reader;
}

const pages = [{ path: '/version', field: 'version' }];

function answer(text: string | Buffer, headers: Record<string, string> = {}): Handler {
  return (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(text);
  };
}

describe('VersionReader', () => {
  it('reads the field of a page at the same origin, and closes the connection', async () => {
    const server = await serve(answer('{"version":"0.11.0+cu128","more":[1]}'));
    const outcome = await readerOf(server.port).read(pages);
    const from = `http://127.0.0.1:${server.port}/version`;
    expect(outcome).toEqual({ version: '0.11.0+cu128', from });
    expect(server.requests[0]?.url).toBe('/version');
    expect(server.requests[0]?.headers.accept).toBe('application/json');
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
  });

  it('sends the token of the metrics page', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'leadsman-'));
    cleanUps.push(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, 'token'), 'secret\n');
    const server = await serve(answer('{"version":"1"}'));
    await readerOf(server.port, { tokenFile: join(folder, 'token') }).read(pages);
    expect(server.requests[0]?.headers.authorization).toBe('Bearer secret');
  });

  it('asks the next page where the first is not, and only there', async () => {
    const server = await serve((request, response) => {
      if (request.url === '/server_info') response.writeHead(404).end();
      else answer('{"version":"0.5.3"}')(request, response);
    });
    const sglang = engineProfiles.find(({ name }) => name === 'sglang')?.versionPages ?? [];
    expect(await readerOf(server.port).read(sglang)).toMatchObject({ version: '0.5.3' });
    expect(server.requests.map(({ url }) => url)).toEqual(['/server_info', '/get_server_info']);
    const refusing = await serve((_, response) => response.writeHead(401).end());
    expect(await readerOf(refusing.port).read(sglang)).toMatchObject({
      why: expect.stringMatching(/status 401/),
    });
    expect(refusing.requests).toHaveLength(1);
  });

  it.each([
    ['no such field', '{"release":"1"}'],
    ['a number', '{"version":0.1}'],
    ['a field of its prototype', '{"a":1}', 'toString'],
    ['an empty text', '{"version":""}'],
    ['a text that is too long', `{"version":"${'9'.repeat(129)}"}`],
    ['a text with a line feed', '{"version":"1\\n2"}'],
    ['a list', '["version"]'],
    ['null', 'null'],
    ['half a page', '{"version":"1'],
    ['nothing', ''],
  ])('has no version from a page with %s', async (_, text, field = 'version') => {
    const server = await serve(answer(text));
    const outcome = await readerOf(server.port).read([{ path: '/version', field }]);
    expect(outcome).toMatchObject({ why: expect.stringMatching(/no text in the field/) });
  });

  it('has none from HTML, a redirect to elsewhere, or without any page', async () => {
    const html = await serve(answer('<html>', { 'content-type': 'text/html' }));
    expect(await readerOf(html.port).read(pages)).toMatchObject({
      why: expect.stringMatching(/the page is text\/html/),
    });
    const away = await serve((_, response) =>
      response.writeHead(302, { location: 'http://elsewhere.test/version' }).end(),
    );
    expect(await readerOf(away.port).read(pages)).toMatchObject({
      why: expect.stringMatching(/redirected/),
    });
    expect(await readerOf(html.port).read([])).toMatchObject({
      why: expect.stringMatching(/no version page/),
    });
  });

  it('gives up a huge page, whether it states its size, streams, or was compressed', async () => {
    const huge = `{"version":"1","fill":"${'x'.repeat(versionBytesMax)}"}`;
    const stated = await serve(answer(huge, { 'content-length': String(huge.length) }));
    expect(await readerOf(stated.port).read(pages)).toMatchObject({
      why: expect.stringMatching(/larger than 65536/),
    });
    const zipped = await serve(answer(gzipSync(huge), { 'content-encoding': 'gzip' }));
    expect(await readerOf(zipped.port).read(pages)).toMatchObject({
      why: expect.stringMatching(/larger than 65536/),
    });
    const endless = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const pour = () => {
        while (!response.destroyed && response.write(' '.repeat(16_384)));
      };
      response.on('drain', pour);
      pour();
    });
    expect(await readerOf(endless.port).read(pages)).toMatchObject({
      why: expect.stringMatching(/larger than 65536/),
    });
  });

  it('gives up a page that hangs after two seconds in all', async () => {
    const server = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write('{');
    });
    // The first question took all but a millisecond of the time.
    const times = [0, 1_999];
    const reader = readerOf(server.port, { nowMs: () => times.shift() ?? 2_000 });
    expect(await reader.read(pages)).toMatchObject({
      why: expect.stringMatching(/no complete answer within 1 ms/),
    });
  });

  it('fails when it is closed meanwhile', async () => {
    const reached = Promise.withResolvers<void>();
    const server = await serve(() => reached.resolve());
    const reader = readerOf(server.port);
    const outcome = reader.read(pages);
    await reached.promise;
    reader.close();
    expect(await outcome).toMatchObject({ why: expect.stringMatching(/stopped/) });
  });
});
