/**
 * `/metrics` of the engine simulator, with every way in which a real one has been seen to fail.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { EngineFaults } from './faults.ts';
import type { MetricsPage } from './metrics-page.ts';
import { asOpenMetrics, namesAsked, selectLines } from './select-series.ts';

/** Pieces in which a slow body is sent. */
const slowPieces = 20;

export class MetricsHandler {
  readonly #faults: EngineFaults;
  readonly #metricsPage: MetricsPage;
  /** Busy time per page, as rendering it costs a Python server several ms (bench only). */
  readonly #renderMs: number;
  #frozen: Buffer | undefined;
  #frozenSelection: Buffer | undefined;
  #wholeBytes = 0;

  constructor(faults: EngineFaults, page: MetricsPage, renderMs: number) {
    this.#faults = faults;
    this.#metricsPage = page;
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
    const url = request.url ?? '/';
    const [path = '/', query = ''] = url.split('?', 2);
    const names = namesAsked(url);
    if (names !== undefined && this.#refuse(response)) return;
    if (faults.metricsRedirect !== '' && path === '/metrics') {
      const location = faults.metricsRedirect + (query === '' ? '' : `?${query}`);
      response.writeHead(307, { location }).end();
      return;
    }
    if (faults.metricsStatus !== 200) {
      sendStatus(response, faults.metricsStatus);
      return;
    }
    // Served by the application of the client library, which is mounted there.
    const isMounted = path.endsWith('/') || faults.selection === 'everywhere';
    const isHeard = faults.selection !== 'ignored' && (faults.selection !== 'below' || isMounted);
    const page = names !== undefined && isHeard ? this.#selection(names) : this.#page();
    // It gives that to whoever names it in any place.
    if (isMounted && request.headers.accept?.includes('application/openmetrics-text')) {
      response.setHeader('content-type', 'application/openmetrics-text; version=1.0.0');
      this.#send(response, asOpenMetrics(page));
    } else this.#send(response, page);
  }

  /** Whether a page asked for by name gets an answer that is no page, or none. */
  #refuse(response: ServerResponse): boolean {
    const { selection, selectionStatus, selectionRedirect } = this.#faults;
    if (selection === 'hang') return true;
    if (selectionRedirect !== '') {
      response.writeHead(307, { location: selectionRedirect }).end();
      return true;
    }
    if (selectionStatus === 200) return false;
    sendStatus(response, selectionStatus);
    return true;
  }

  /** Rendering costs in proportion to the bytes, as in the client library. */
  #send(response: ServerResponse, page: Buffer): void {
    const faults = this.#faults;
    let body = page;
    if (this.#renderMs > 0) {
      this.#wholeBytes ||= this.#metricsPage.render().length;
      burn(this.#renderMs * (body.length / this.#wholeBytes));
    }
    if (!response.hasHeader('content-type')) {
      response.setHeader('content-type', faults.metricsContentType);
    }
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

  #selection(names: ReadonlySet<string>): Buffer {
    const { selection, selectionLacks, metricsBody, metricsFrozen } = this.#faults;
    if (selection === 'empty') return Buffer.alloc(0);
    const kept = new Set([...names].filter((name) => name !== selectionLacks));
    const render = () =>
      metricsBody === undefined && !metricsFrozen
        ? this.#metricsPage.renderSelection(kept)
        : Buffer.from(selectLines(this.#page().toString(), kept));
    if (selection !== 'frozen') {
      this.#frozenSelection = undefined;
      return render();
    }
    this.#frozenSelection ??= render();
    return this.#frozenSelection;
  }

  #page(): Buffer {
    if (this.#faults.metricsBody !== undefined) return Buffer.from(this.#faults.metricsBody);
    if (!this.#faults.metricsFrozen) {
      this.#frozen = undefined;
      return this.#metricsPage.render();
    }
    this.#frozen ??= this.#metricsPage.render();
    return this.#frozen;
  }
}

function sendStatus(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'content-type': 'text/plain' }).end('simulated fault\n');
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
