import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { reason, reasonName } from '@leadsman/wire';
import { afterEach, describe, expect, it } from 'vitest';
import { type FetchSettings, PageFetcher } from './page-fetcher.ts';
import { isPage, type PageResult } from './page-result.ts';
import { type Handler, type PageServer, servePages } from './page-server.fixture.ts';

const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function serve(handler: Handler, host?: string): Promise<PageServer> {
  const server = await servePages(handler, host);
  cleanUps.push(() => server.stop());
  return server;
}

function fetcherFor(url: string, options: Partial<FetchSettings> = {}): PageFetcher {
  const fetcher = new PageFetcher(
    {
      url,
      timeoutMs: 5_000,
      bytesMax: 100_000,
      tokenFile: '',
      localAddress: '',
      tlsCaFile: '',
      tlsVerify: true,
      ...options,
    },
    () => performance.now(),
  );
  cleanUps.push(() => fetcher.close());
  return fetcher;
}

function textOf(result: PageResult): string {
  return isPage(result) ? Buffer.from(result.bytes).toString() : reasonName(result.reason);
}

async function outcomeOf(handler: Handler, options: Partial<FetchSettings> = {}): Promise<string> {
  const server = await serve(handler);
  const result = await fetcherFor(`http://127.0.0.1:${server.port}/metrics`, options).fetch();
  return textOf(result);
}

describe('PageFetcher', () => {
  it('gets a page over one kept connection and asks for the text format, unencoded', async () => {
    const server = await serve((request, response) => response.end(`page of ${request.url}`));
    const fetcher = fetcherFor(`http://127.0.0.1:${server.port}/metrics?a=b`);
    for (let i = 0; i < 3; i++) expect(textOf(await fetcher.fetch())).toBe('page of /metrics?a=b');
    expect(server.connections).toBe(1);
    expect(server.requests[0]?.headers.accept).toMatch(/^text\/plain;version=0\.0\.4/);
    // vLLM's server prefers it, weighted or not, and spells names differently in it.
    expect(server.requests[0]?.headers.accept).not.toContain('openmetrics');
    expect(server.requests[0]?.headers['accept-encoding']).toBe('identity');
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
  });

  it('refuses a second scrape while one is in flight', async () => {
    const server = await serve((_, response) => response.end('page'));
    const fetcher = fetcherFor(`http://127.0.0.1:${server.port}/`);
    const first = fetcher.fetch();
    await expect(fetcher.fetch()).rejects.toThrow(/in flight/);
    expect(textOf(await first)).toBe('page');
  });

  it('refuses a URL that is none, or of another scheme', () => {
    expect(() => fetcherFor('metrics')).toThrow(TypeError);
    expect(() => fetcherFor('ftp://host/')).toThrow(TypeError);
  });

  it.each([
    ['500', 'http_status', (response) => response.writeHead(500).end('broken')],
    ['404', 'http_status', (response) => response.writeHead(404).end()],
    ['204', 'http_status', (response) => response.writeHead(204).end()],
    ['401', 'unauthorized', (response) => response.writeHead(401).end()],
    ['403', 'unauthorized', (response) => response.writeHead(403).end()],
    [
      '200 text/html',
      'content_type',
      (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    ],
    [
      '200 application/json',
      'content_type',
      (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('[]'),
    ],
    [
      'an unknown encoding',
      'encoding',
      (response) => response.writeHead(200, { 'content-encoding': 'zstd' }).end('x'),
    ],
    [
      'a gzip that is none',
      'encoding',
      (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip'),
    ],
    [
      'a redirect to another origin',
      'redirect',
      (response) => response.writeHead(302, { location: 'http://elsewhere.test/metrics' }).end(),
    ],
    ['a redirect to nowhere', 'redirect', (response) => response.writeHead(307).end()],
    [
      'a redirect in a circle',
      'redirect',
      (response) => response.writeHead(307, { location: '/again' }).end(),
    ],
    ['a connection that is cut', 'connect', (response) => response.destroy()],
  ] satisfies [string, string, (response: Parameters<Handler>[1]) => unknown][])(
    'gives %s the reason %s',
    async (_, expected, answer) => {
      expect(await outcomeOf((_request, response) => answer(response))).toBe(expected);
    },
  );

  it('follows one redirect of the same origin and remembers where it led', async () => {
    const server = await serve((request, response) => {
      if (request.url === '/metrics/') response.end('page');
      else response.writeHead(307, { location: '/metrics/' }).end();
    });
    const fetcher = fetcherFor(`http://127.0.0.1:${server.port}/metrics`);
    expect(textOf(await fetcher.fetch())).toBe('page');
    expect(textOf(await fetcher.fetch())).toBe('page');
    expect(server.requests.map(({ url }) => url)).toEqual(['/metrics', '/metrics/', '/metrics/']);
  });

  it('begins at the configured path again after the place it was led to fails', async () => {
    let moved = '/a';
    const server = await serve((request, response) => {
      if (request.url === moved) response.end('page');
      else if (request.url === '/metrics') response.writeHead(308, { location: moved }).end();
      else response.writeHead(404).end();
    });
    const fetcher = fetcherFor(`http://127.0.0.1:${server.port}/metrics`);
    expect(textOf(await fetcher.fetch())).toBe('page');
    moved = '/b';
    expect(textOf(await fetcher.fetch())).toBe('http_status');
    expect(textOf(await fetcher.fetch())).toBe('page');
  });

  it('undoes gzip that it did not ask for', async () => {
    const page = gzipSync('compressed page');
    const headers = { 'content-encoding': 'gzip', 'content-type': 'text/plain; version=0.0.4' };
    const text = await outcomeOf((_, response) => response.writeHead(200, headers).end(page));
    expect(text).toBe('compressed page');
  });

  it('takes OpenMetrics', async () => {
    const headers = { 'content-type': 'application/openmetrics-text; version=1.0.0' };
    const text = await outcomeOf((_, response) => response.writeHead(200, headers).end('# EOF\n'));
    expect(text).toBe('# EOF\n');
  });
});

describe('a page that was cut', () => {
  const openMetrics = { 'content-type': 'application/openmetrics-text; version=1.0.0' };

  it.each(['up 1\n', '', 'up 1\n# EO', 'up 1 # EOF', 'up{a="\n# EOF"} 1'])(
    'is OpenMetrics without its last line: %j',
    async (page) => {
      const text = await outcomeOf((_, response) => response.writeHead(200, openMetrics).end(page));
      expect(text).toBe('truncated');
    },
  );

  it('is text whose connection ended within a line, and not one that HTTP says is whole', async () => {
    const unframed: Handler = (request) => {
      request.socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nup 1\nup{a="');
    };
    expect(await outcomeOf(unframed)).toBe('truncated');
    const whole: Handler = (_, response) => response.end('up 1\nkv 2');
    expect(await outcomeOf(whole)).toBe('up 1\nkv 2');
  });

  it.each([
    ['a short length', 'content-length: 40\r\n\r\nup 1\n'],
    ['a chunk without its end', 'transfer-encoding: chunked\r\n\r\n28\r\nup 1\n'],
    ['chunks without the last', 'transfer-encoding: chunked\r\n\r\n5\r\nup 1\n\r\n'],
  ])('is no page: %s', async (_, rest) => {
    const cut: Handler = (request) => {
      request.socket.end(`HTTP/1.1 200 OK\r\n${rest}`);
    };
    expect(await outcomeOf(cut)).toBe('connect');
  });
});

describe('the bounds of a fetch', () => {
  it('end a page that never begins, and one that never ends, at the deadline', async () => {
    const options = { timeoutMs: 100 };
    expect(await outcomeOf(() => {}, options)).toBe('timeout');
    const trickle: Handler = (_, response) => {
      const timer = setInterval(() => response.write('# still here\n'), 10);
      response.on('close', () => clearInterval(timer));
    };
    expect(await outcomeOf(trickle, options)).toBe('timeout');
  });

  it('close the connection of a scrape that was given up, and go on with another', async () => {
    let hang = true;
    const server = await serve((_, response) => {
      if (!hang) response.end('page');
    });
    const fetcher = fetcherFor(`http://127.0.0.1:${server.port}/metrics`, { timeoutMs: 100 });
    expect(textOf(await fetcher.fetch())).toBe('timeout');
    hang = false;
    expect(textOf(await fetcher.fetch())).toBe('page');
    expect(server.connections).toBe(2);
  });

  it('end an endless page at the cap on its bytes', async () => {
    const endless: Handler = (_, response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384, 'x')));
      };
      response.on('drain', more);
      more();
    };
    expect(await outcomeOf(endless)).toBe('too_large');
  });

  it('refuse a page that states a length beyond the cap, and take one of just the cap', async () => {
    const page = (bytes: number): Handler => {
      return (_, response) => response.end(Buffer.alloc(bytes, 'x'));
    };
    expect(await outcomeOf(page(1_001), { bytesMax: 1_000 })).toBe('too_large');
    expect(await outcomeOf(page(1_000), { bytesMax: 1_000 })).toHaveLength(1_000);
  });

  it('hold for what a small compressed page expands to', async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000, 'x'));
    expect(bomb.length).toBeLessThan(100_000);
    const headers = { 'content-encoding': 'gzip' };
    expect(await outcomeOf((_, response) => response.writeHead(200, headers).end(bomb))).toBe(
      'too_large',
    );
  });

  it('hold for the body of an error', async () => {
    const endless: Handler = (_, response) => {
      response.writeHead(500);
      const timer = setInterval(() => response.write(Buffer.alloc(65_536, 'x')), 1);
      response.on('close', () => clearInterval(timer));
    };
    expect(await outcomeOf(endless)).toBe('http_status');
  });
});

describe('a token file', () => {
  async function tokenFile(token: string): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'leadsman-'));
    cleanUps.push(() => rm(folder, { recursive: true }));
    const path = join(folder, 'token');
    await writeFile(path, token);
    return path;
  }

  function guarded(accepted: () => string): Handler {
    return (request, response) => {
      if (request.headers.authorization === `Bearer ${accepted()}`) response.end('page');
      else response.writeHead(401).end();
    };
  }

  function clocked(url: string, path: string) {
    let nowMs = 0;
    const fetcher = new PageFetcher(
      {
        url,
        timeoutMs: 5_000,
        bytesMax: 100_000,
        tokenFile: path,
        localAddress: '',
        tlsCaFile: '',
        tlsVerify: true,
      },
      () => nowMs,
    );
    cleanUps.push(() => fetcher.close());
    return { fetcher, pass: (ms: number) => (nowMs += ms) };
  }

  it('is sent, and read again when the engine refuses what it said', async () => {
    const path = await tokenFile('first\n');
    let accepted = 'first';
    const server = await serve(guarded(() => accepted));
    const { fetcher, pass } = clocked(`http://127.0.0.1:${server.port}/metrics`, path);
    expect(textOf(await fetcher.fetch())).toBe('page');
    accepted = 'second';
    await writeFile(path, 'second');
    pass(1_000);
    expect(textOf(await fetcher.fetch())).toBe('page');
    expect(server.requests).toHaveLength(3);
  });

  it('does not make a tight loop of a token that stays wrong', async () => {
    const path = await tokenFile('wrong');
    const server = await serve(guarded(() => 'right'));
    const { fetcher, pass } = clocked(`http://127.0.0.1:${server.port}/metrics`, path);
    for (let i = 0; i < 10; i++) {
      pass(50);
      expect(textOf(await fetcher.fetch())).toBe('unauthorized');
    }
    expect(server.requests).toHaveLength(10);
    await writeFile(path, 'right');
    expect(textOf(await fetcher.fetch())).toBe('unauthorized');
    pass(1_000);
    expect(textOf(await fetcher.fetch())).toBe('page');
  });

  it('may be missing', async () => {
    const server = await serve((_, response) => response.end('page'));
    const { fetcher } = clocked(`http://127.0.0.1:${server.port}/metrics`, '/nonexistent/token');
    expect(textOf(await fetcher.fetch())).toBe('page');
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
  });
});

describe('connections', () => {
  it('lose no scrape to an engine that closes idle connections', async () => {
    let closed = 0;
    const server = createServer((socket: Socket) => {
      socket.on('error', () => {});
      socket.once('data', () => {
        // The answer says keep-alive, and then the connection is cut all the same.
        const head = 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: keep-alive\r\n\r\n';
        socket.write(`${head}page`, () => {
          closed++;
          if (closed % 2 === 0) socket.destroy();
          else socket.once('data', () => socket.destroy());
        });
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    cleanUps.push(() => server.close());
    const { port } = server.address() as { port: number };
    const fetcher = fetcherFor(`http://127.0.0.1:${port}/metrics`);
    for (let i = 0; i < 200; i++) expect(textOf(await fetcher.fetch())).toBe('page');
  });

  it('reach localhost on whichever loopback address the engine listens', async () => {
    // A machine without IPv6 has one loopback address.
    const hasV6 = Object.values(networkInterfaces())
      .flat()
      .some((one) => one?.address === '::1');
    for (const host of hasV6 ? ['127.0.0.1', '::1'] : ['127.0.0.1']) {
      const server = await serve((_, response) => response.end(host), host);
      const result = await fetcherFor(`http://localhost:${server.port}/metrics`).fetch();
      expect(textOf(result)).toBe(host);
    }
  });

  it('name every address that was tried when none answers', async () => {
    const server = await servePages((_, response) => response.end());
    await server.stop();
    const refused = await fetcherFor(`http://localhost:${server.port}/metrics`).fetch();
    expect(isPage(refused)).toBe(false);
    if (isPage(refused)) return;
    expect(refused.reason).toBe(reason.connect);
    expect(refused.detail).toContain(`http://localhost:${server.port}/metrics`);
    expect(refused.detail).toContain(`127.0.0.1:${server.port}`);
    expect(refused.detail).toContain(`::1:${server.port}`);
  });

  it('end with the fetcher, and so does a scrape in flight', async () => {
    const server = await serve(() => {});
    const fetcher = fetcherFor(`http://127.0.0.1:${server.port}/metrics`);
    const result = fetcher.fetch();
    fetcher.close();
    expect(textOf(await result)).toBe('connect');
  });
});
