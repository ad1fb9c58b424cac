import { metric, reason } from '@leadsman/wire';
import { afterEach, describe, expect, it } from 'vitest';
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

function targetFor(url: string, engine = 'auto', onReport: (target: Target) => void = () => {}) {
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
      random: () => 0.5,
      onReport,
    },
  );
  cleanUps.push(() => target.stop());
  return target;
}

describe('Target', () => {
  // C09, the metrics port behind a proxy that owns the serving port
  it('reads a page on another port than the one that serves', async () => {
    const server = await serve((_, response) => response.end('vllm:num_requests_waiting 12\n'));
    const target = targetFor(`http://127.0.0.1:${server.port}/metrics`);
    await target.scrapeOnce();
    expect(target.engine).toBe('vllm');
    expect(target.state.reason).toBe(reason.ok);
    expect(target.state.metrics[metric.waitingRequests]).toBe(12);
    expect(target.state.report(0).port).toBe(15_080);
    expect(target.counters).toMatchObject({ scrapes: 1, bytes: 29 });
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
    const server = await serve((_, response) => {
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
});
