import { createServer, type Server, type Socket } from 'node:net';
import { reasonName } from '@leadsman/wire';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { PageFetcher } from './page-fetcher.ts';
import { isPage } from './page-result.ts';

const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** An engine that answers each request with these bytes, cut at these places. */
async function engineOf(
  answer: string,
  cuts: readonly number[] = [],
  ends = true,
): Promise<{ fetcher: PageFetcher; connections: () => number; requests: string[] }> {
  let connections = 0;
  const requests: string[] = [];
  const server: Server = createServer({ noDelay: true }, (socket: Socket) => {
    connections++;
    socket.on('error', () => {});
    socket.on('data', async (request) => {
      requests.push(request.toString('latin1'));
      let from = 0;
      for (const cut of [...cuts, answer.length]) {
        if (cut <= from) continue;
        // Each part has to arrive before the next is written.
        await new Promise<void>((resolve) =>
          socket.write(answer.slice(from, cut), () => resolve()),
        );
        await new Promise((resolve) => setImmediate(resolve));
        from = cut;
      }
      if (ends) socket.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const fetcher = new PageFetcher(
    {
      url: `http://127.0.0.1:${port}/metrics`,
      timeoutMs: 5_000,
      bytesMax: 100_000,
      tokenFile: '',
      localAddress: '',
      tlsCaFile: '',
      tlsVerify: true,
    },
    () => performance.now(),
  );
  cleanUps.push(() => {
    fetcher.close();
    server.close();
  });
  return { fetcher, connections: () => connections, requests };
}

async function textOf(fetcher: PageFetcher): Promise<string> {
  const result = await fetcher.fetch();
  return isPage(result) ? Buffer.from(result.bytes).toString() : reasonName(result.reason);
}

const ok = 'HTTP/1.1 200 OK\r\n';

const answers: [string, string, string][] = [
  ['a length', `${ok}content-length: 5\r\n\r\nup 1\n`, 'up 1\n'],
  ['no body', `${ok}content-length: 0\r\n\r\n`, ''],
  ['the end of the connection', `${ok}\r\nup 1\n`, 'up 1\n'],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\n\r\nup 1\n', 'up 1\n'],
  ['no words for its status', 'HTTP/1.1 200\r\ncontent-length: 5\r\n\r\nup 1\n', 'up 1\n'],
  ['bare line feeds', 'HTTP/1.1 200 OK\ncontent-length: 5\n\nup 1\n', 'up 1\n'],
  [
    'chunks, extensions, trailers',
    `${ok}Transfer-Encoding: Chunked\r\n\r\n3;a="b"\r\nup \r\n2 \r\n1\n\r\n0\r\nx: y\r\n\r\n`,
    'up 1\n',
  ],
  [
    'an early hint before it',
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nlink: x\r\n\r\n${ok}content-length: 5\r\n\r\nup 1\n`,
    'up 1\n',
  ],
  ['a length said twice', `${ok}content-length: 5\r\nContent-Length: 5\r\n\r\nup 1\n`, 'up 1\n'],
  ['two lengths', `${ok}content-length: 5\r\ncontent-length: 6\r\n\r\nup 1\n`, 'http_status'],
  ['a negative length', `${ok}content-length: -5\r\n\r\nup 1\n`, 'http_status'],
  ['a length that is none', `${ok}content-length: 5, 5\r\n\r\nup 1\n`, 'http_status'],
  [
    'a length and chunks',
    `${ok}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    'http_status',
  ],
  ['an unknown coding', `${ok}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, 'http_status'],
  ['a chunk size that is none', `${ok}transfer-encoding: chunked\r\n\r\nup\r\n`, 'http_status'],
  ['a negative chunk', `${ok}transfer-encoding: chunked\r\n\r\n-1\r\n`, 'http_status'],
  ['a chunk too long', `${ok}transfer-encoding: chunked\r\n\r\n2\r\nup 1\r\n`, 'http_status'],
  ['a giant chunk', `${ok}transfer-encoding: chunked\r\n\r\n${'f'.repeat(13)}\r\n`, 'http_status'],
  ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n', 'http_status'],
  ['HTTP/2', 'HTTP/2 200\r\n\r\n', 'http_status'],
  ['a switch of protocols', 'HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n', 'http_status'],
  ['a folded header', `${ok}a: b\r\n c\r\n\r\nup 1\n`, 'http_status'],
  ['a header without a name', `${ok}: b\r\n\r\nup 1\n`, 'http_status'],
  ['endless headers', `${ok}${'a: b\r\n'.repeat(5_000)}`, 'http_status'],
  ['an endless status', 'HTTP/1.1 200 '.padEnd(40_000, 'x'), 'http_status'],
  ['endless hints', 'HTTP/1.1 100 Continue\r\na: b\r\n\r\n'.repeat(2_000), 'http_status'],
  [
    'endless trailers',
    `${ok}transfer-encoding: chunked\r\n\r\n0\r\n${'a: b\r\n'.repeat(5_000)}`,
    'http_status',
  ],
  ['no content', 'HTTP/1.1 204 No Content\r\n\r\n', 'http_status'],
  ['half a status', 'HTTP/1.1 2', 'connect'],
  ['half its headers', `${ok}content-le`, 'connect'],
  ['half a body', `${ok}content-length: 6\r\n\r\nup 1\n`, 'connect'],
  ['half a chunk', `${ok}transfer-encoding: chunked\r\n\r\n6\r\nup 1\n`, 'connect'],
  ['chunks without their end', `${ok}transfer-encoding: chunked\r\n\r\n5\r\nup 1\n\r\n`, 'connect'],
  ['nothing', '', 'connect'],
];

describe('an answer of', () => {
  it.each(answers)('%s', async (_, answer, outcome) => {
    const { fetcher } = await engineOf(answer);
    expect(await textOf(fetcher)).toBe(outcome);
  });

  it.each(answers.filter(([, answer]) => answer.length < 200))(
    '%s, byte by byte',
    async (_, answer, outcome) => {
      const { fetcher } = await engineOf(
        answer,
        [...answer].map((__, at) => at),
      );
      expect(await textOf(fetcher)).toBe(outcome);
    },
  );
});

describe('a kept connection', () => {
  const kept = `${ok}content-length: 5\r\n\r\nup 1\n`;

  it('carries one request after the other', async () => {
    const { fetcher, connections, requests } = await engineOf(kept, [], false);
    for (let i = 0; i < 20; i++) expect(await textOf(fetcher)).toBe('up 1\n');
    expect(connections()).toBe(1);
    expect(requests[19]).toMatch(/^GET \/metrics HTTP\/1\.1\r\nhost: 127\.0\.0\.1:\d+\r\n/);
  });

  it.each([
    ['that the server would close', `${ok}connection: close\r\ncontent-length: 5\r\n\r\nup 1\n`],
    ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\nup 1\n'],
    ['that goes on after its answer', `${kept}${kept}`],
  ])('is not one %s', async (_, answer) => {
    const { fetcher, connections } = await engineOf(answer, [], false);
    for (let i = 0; i < 3; i++) expect(await textOf(fetcher)).toBe('up 1\n');
    expect(connections()).toBe(3);
  });
});

it('reads the same page however it is chunked and cut', async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 3_000 }), { maxLength: 20 });
  const cuts = fc.array(fc.integer({ min: 1, max: 40_000 }), { maxLength: 10 });
  await fc.assert(
    fc.asyncProperty(sizes, cuts, async (chunks, places) => {
      const page = chunks.map((size, at) => String(at % 10).repeat(size));
      const body = page.map((text) => `${text.length.toString(16)}\r\n${text}\r\n`).join('');
      const answer = `${ok}transfer-encoding: chunked\r\n\r\n${body}0\r\n\r\n`;
      const sorted = places.filter((at) => at < answer.length).sort((a, b) => a - b);
      const { fetcher } = await engineOf(answer, sorted, false);
      for (let i = 0; i < 2; i++) expect(await textOf(fetcher)).toBe(page.join(''));
      fetcher.close();
    }),
    { numRuns: 30 },
  );
});
