import { decodeAttributes, metric, reason } from '@leadsman/wire';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { paceDefaults, pageBytesMaxDefault, suspicionDefaults } from './defaults.ts';
import { type Handler, type PageServer, servePages } from './http/page-server.fixture.ts';
import { PageReader } from './page-reader.ts';
import { Target } from './target.ts';

const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function serve(handler: Handler): Promise<PageServer> {
  const server = await servePages(handler);
  cleanUps.push(() => server.stop());
  return server;
}

function targetFor(
  url: string,
  engine = 'auto',
  onReport: (target: Target) => void = () => {},
  cpuMs?: () => number,
) {
  const target = new Target(
    {
      identity: {
        podUid: 'pod',
        podName: 'pod',
        namespace: 'default',
        nodeName: 'n1',
        address: '127.0.0.1',
        port: 15_080,
        rank: 0,
        reporter: 'sidecar',
        metricsPort: new URL(url).port,
      },
      fetch: {
        url,
        timeoutMs: 2_000,
        bytesMax: pageBytesMaxDefault,
        tokenFile: '',
        localAddress: '',
        tlsCaFile: '',
        tlsVerify: true,
      },
      pace: { ...paceDefaults, intervalMs: 5 },
      suspicion: suspicionDefaults,
      engine,
    },
    {
      reader: new PageReader(),
      clock: { nowMs: () => performance.now(), unixMs: () => 1_000 },
      ...(cpuMs && { cpuMs }),
      random: () => 0.5,
      onReport,
    },
  );
  cleanUps.push(() => target.stop());
  return target;
}

describe('Target', () => {
  // The metrics port behind a proxy that owns the serving port
  it('reads a page on another port than the one that serves', async () => {
    const server = await serve((_, response) => response.end('vllm:num_requests_waiting 12\n'));
    const target = targetFor(`http://127.0.0.1:${server.port}/metrics`);
    await target.scrapeOnce();
    expect(target.engine).toBe('vllm');
    expect(target.state.reason).toBe(reason.ok);
    expect(target.state.metrics[metric.waitingRequests]).toBe(12);
    expect(target.state.report(0).port).toBe(15_080);
    expect(target.counters.scrapes).toBe(1);
    expect(target.pages).toMatchObject({ wholePages: 1, wholeBytes: 29, byNamePages: 0 });
  });

  it('gives up a page that takes longer to be read than its budget, and slows down for it', async () => {
    const server = await serve((_, response) => response.end('vllm:num_requests_waiting 12\n'));
    let cpuMs = 0;
    // Every look at the clock finds it later: the two around reading are 150 ms apart.
    const slow = targetFor(
      `http://127.0.0.1:${server.port}/metrics`,
      'vllm',
      () => {},
      () => {
        cpuMs += 150;
        return cpuMs;
      },
    );
    await slow.scrapeOnce();
    expect(slow.state.reason).toBe(reason.tooSlow);
    expect(slow.intervalMs).toBeGreaterThan(100);
  });

  it('finds the page of an engine that serves JSON at the usual path', async () => {
    const server = await serve((request, response) => {
      if (request.url === '/prometheus/metrics') response.end('trtllm_num_requests_running 3\n');
      else response.writeHead(200, { 'content-type': 'application/json' }).end('[]');
    });
    const target = targetFor(`http://127.0.0.1:${server.port}/`);
    await target.scrapeOnce();
    expect(target.state.reason).toBe(reason.contentType);
    await target.scrapeOnce();
    expect(target.engine).toBe('trtllm-serve');
    expect(target.state.metrics[metric.runningRequests]).toBe(3);
  });

  it('asks a configured engine at its own path', async () => {
    const server = await serve((_, response) => response.end('trtllm_num_requests_running 3\n'));
    const target = targetFor(`http://127.0.0.1:${server.port}/`, 'trtllm-serve');
    await target.scrapeOnce();
    expect(server.requests[0]?.url).toBe('/prometheus/metrics');
  });

  it('finds out anew when another engine answers', async () => {
    let page = 'vllm:num_requests_running 1\n';
    const server = await serve((_, response) => response.end(page));
    const target = targetFor(`http://127.0.0.1:${server.port}/metrics`);
    await target.scrapeOnce();
    page = 'tgi_queue_size 4\n';
    await target.scrapeOnce();
    expect(target.state.reason).toBe(reason.noSeries);
    await target.scrapeOnce();
    expect(target.engine).toBe('tgi');
    expect(target.state.metrics[metric.waitingRequests]).toBe(4);
  });

  it('keeps to a configured engine, whatever the page', async () => {
    const server = await serve((_, response) => response.end('tgi_queue_size 4\n'));
    const target = targetFor(`http://127.0.0.1:${server.port}/metrics`, 'vllm');
    await target.scrapeOnce();
    expect(target.state.reason).toBe(reason.noSeries);
    expect(target.engine).toBe('vllm');
    expect(() => targetFor('http://127.0.0.1/', 'nonsense')).toThrow(RangeError);
  });

  it('scrapes one at a time and reports each scrape, failed or not, until it is stopped', async () => {
    let open = 0;
    let openMax = 0;
    let served = 0;
    const server = await serve((request, response) => {
      // The version, and series by name.
      if (request.url !== '/metrics') {
        response.writeHead(404).end();
        return;
      }
      open++;
      openMax = Math.max(openMax, open);
      setTimeout(() => {
        open--;
        if (++served % 3 === 0) response.writeHead(500);
        response.end('vllm:num_requests_running 1\n');
      }, 2);
    });
    const reasons: number[] = [];
    let enough = () => {};
    const done = new Promise<void>((resolve) => {
      enough = resolve;
    });
    const target = targetFor(`http://127.0.0.1:${server.port}/metrics`, 'auto', ({ state }) => {
      reasons.push(state.reason);
      if (reasons.length === 6) enough();
    });
    target.start();
    await done;
    await target.stop();
    expect(openMax).toBe(1);
    expect(reasons.slice(0, 6)).toEqual(
      [0, 0, 5, 0, 0, 5].map((code) => (code === 0 ? reason.ok : reason.httpStatus)),
    );
    expect(target.state.seq).toBeGreaterThanOrEqual(6);
    const { length } = reasons;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(reasons).toHaveLength(length);
  });

  it('scrapes once at a time when started twice, and never again after its end', async () => {
    const server = await serve((_, response) => response.end('vllm:num_requests_waiting 1\n'));
    const url = `http://127.0.0.1:${server.port}/metrics`;
    const scrapes = (target: Target) => target.counters.scrapes;
    const one = targetFor(url);
    one.start();
    one.start();
    await vi.waitFor(() => expect(scrapes(one)).toBeGreaterThanOrEqual(3));
    const stopped = one.stop();
    one.start();
    await stopped;
    one.start();
    const atEnd = scrapes(one);
    const other = targetFor(url);
    other.start();
    // As much time as five scrapes take.
    await vi.waitFor(() => expect(scrapes(other)).toBeGreaterThanOrEqual(5));
    expect(scrapes(one)).toBe(atEnd);
  });

  it('learns the version of its engine once, and tells it in its attributes', async () => {
    let asked = 0;
    const server = await serve((request, response) => {
      if (request.url !== '/version') {
        response.end('vllm:num_requests_running 1\n');
        return;
      }
      asked++;
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"version":"0.11.0"}');
    });
    let scrapesAfter = 0;
    const done = Promise.withResolvers<void>();
    const target = targetFor(`http://127.0.0.1:${server.port}/metrics`, 'auto', ({ state }) => {
      if (state.engineVersion !== '' && ++scrapesAfter === 5) done.resolve();
    });
    expect(target.state.attributes.engineVersion).toBe('');
    target.start();
    await done.promise;
    await target.stop();
    expect(asked).toBe(1);
    expect(decodeAttributes(target.state.attributesBytes())).toMatchObject({
      engineVersion: '0.11.0',
      revision: target.state.revision,
    });
    expect(target.counters).toMatchObject({ versionRequests: 1, versionFailures: 0 });
  });

  it.each([
    ['hangs', () => {}],
    ['is refused', (_, response) => response.writeHead(403).end()],
    ['breaks off', (_, response) => response.destroy()],
    [
      'is huge',
      (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(' '.repeat(1_000_000));
      },
    ],
  ] satisfies [string, Handler][])(
    'scrapes on while the version page %s, and ends at once',
    async (_, version) => {
      let asked = 0;
      const server = await serve((request, response) => {
        if (request.url === '/version') {
          asked++;
          version(request, response);
        } else response.end('vllm:num_requests_running 1\n');
      });
      let good = 0;
      const done = Promise.withResolvers<void>();
      const target = targetFor(`http://127.0.0.1:${server.port}/metrics`, 'auto', ({ state }) => {
        if (state.reason === reason.ok && asked > 0 && ++good === 10) done.resolve();
      });
      target.start();
      await done.promise;
      await target.stop();
      expect(target.counters.versionRequests).toBe(1);
      expect(target.state.engineVersion).toBe('');
      expect(target.state.reason).toBe(reason.ok);
    },
  );

  it('tells how to name the engine of a page that it does not know', async () => {
    const server = await serve((_, response) => response.end('prompt_tokens_total 1\n'));
    const target = targetFor(`http://127.0.0.1:${server.port}/metrics`);
    await target.scrapeOnce();
    expect(target.engine).toBeUndefined();
    expect(target.state.reason).toBe(reason.noSeries);
    expect(target.state.detail).toMatch(/--engine.*leadsman explain/);
  });
});
