/**
 * `/metrics` of the engine simulator, with every way in which a real one has been seen to fail.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { EngineFaults } from './faults.ts';

/** Pieces in which a slow body is sent. */
const slowPieces = 20;

export class MetricsHandler {
  readonly #faults: EngineFaults;
  readonly #render: () => Buffer;
  /** Busy time per page, as rendering it costs a Python server several ms (bench only). */
  readonly #renderMs: number;
  #frozen: Buffer | undefined;

  constructor(faults: EngineFaults, render: () => Buffer, renderMs: number) {
    this.#faults = faults;
    this.#render = render;
    this.#renderMs = renderMs;
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const faults = this.#faults;
    if (faults.metricsHang) return;
    const token = faults.metricsToken;
    if (token !== '' && request.headers.authorization !== `Bearer ${token}`) {
      response.writeHead(401, { 'content-type': 'application/json' });
      response.end('{"error":"Unauthorized"}');
      return;
    }
    if (faults.metricsRedirect !== '' && request.url === '/metrics') {
      response.writeHead(307, { location: faults.metricsRedirect }).end();
      return;
    }
    if (faults.metricsStatus !== 200) {
      response.writeHead(faults.metricsStatus, { 'content-type': 'text/plain' });
      response.end('simulated fault\n');
      return;
    }
    this.#sendPage(response);
  }

  #sendPage(response: ServerResponse): void {
    const faults = this.#faults;
    if (this.#renderMs > 0) burn(this.#renderMs);
    let body = this.#page();
    response.setHeader('content-type', faults.metricsContentType);
    if (faults.metricsPadBytes > 0) body = Buffer.concat([padding(faults.metricsPadBytes), body]);
    if (faults.metricsGzip) {
      body = gzipSync(body);
      response.setHeader('content-encoding', 'gzip');
    }
    response.setHeader('content-length', body.length);
    response.writeHead(200);
    if (faults.metricsBodyMs > 0) dribble(response, body, faults.metricsBodyMs);
    else response.end(body);
  }

  #page(): Buffer {
    if (this.#faults.metricsBody !== undefined) return Buffer.from(this.#faults.metricsBody);
    if (!this.#faults.metricsFrozen) {
      this.#frozen = undefined;
      return this.#render();
    }
    this.#frozen ??= this.#render();
    return this.#frozen;
  }
}

function dribble(response: ServerResponse, body: Buffer, durationMs: number): void {
  const size = Math.ceil(body.length / slowPieces);
  let at = 0;
  const timer = setInterval(() => {
    response.write(body.subarray(at, at + size));
    at += size;
    if (at < body.length) return;
    clearInterval(timer);
    response.end();
  }, durationMs / slowPieces);
  response.on('close', () => clearInterval(timer));
}

function padding(bytes: number): Buffer {
  const line = `# ${'x'.repeat(97)}\n`;
  return Buffer.from(line.repeat(Math.ceil(bytes / line.length)));
}

function burn(durationMs: number): void {
  const end = performance.now() + durationMs;
  while (performance.now() < end);
}
