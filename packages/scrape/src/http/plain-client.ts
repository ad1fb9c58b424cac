/**
 * HTTP/1.1 by plain text, as far as reading a page takes it: GET over one kept connection, one at a
 * time, bodies by length, in chunks, or up to the connection's end. The collector of the response
 * has the bounds of a page; here are those of what surrounds one.
 *
 * A general client (undici, `node:http`) costs a process that idles beside an engine 15 MB and twice
 * the CPU per scrape; `npm run bench -- footprint` shows what there is now. TLS stays undici's.
 *
 * ```
 *   get ──> head ──> body by length ────────────────> end ──> (kept)
 *            │  └──> body up to the end of it all ──> end ──> closed
 *            └──> size ──> chunk ──> chunkEnd ──┐
 *                  ^ └──0──> trailers ──> end   │
 *                  └────────────────────────────┘
 * ```
 *
 * Cost: bytes are read into one buffer and handed on as they are; a text per header line.
 */
import { createConnection, type Socket } from 'node:net';
import { reason } from '@leadsman/wire';
import type { Dispatcher } from 'undici';
import { type ConnectSettings, lookup } from './connect-options.ts';
import { PageError } from './page-result.ts';

/** What reads pages of one origin, one at a time. */
export interface PageClient {
  /** Throws TypeError when a header cannot be sent. */
  get(
    path: string,
    headers: Readonly<Record<string, string>>,
    handler: Dispatcher.DispatchHandler,
  ): void;
  /** Ends the request under way with the error, and the connection. */
  destroy(error: Error): void;
}

/** Status and headers of a response, its trailers, or the size of one chunk: bytes. */
const lineBytesMax = 16_384;
const readBytes = 65_536;
const lineFeed = 0x0a;

type State = 'status' | 'headers' | 'body' | 'size' | 'chunk' | 'chunkEnd' | 'trailers';

export class PlainClient implements PageClient {
  readonly #origin: URL;
  readonly #settings: ConnectSettings;
  readonly #bytes = Buffer.allocUnsafeSlow(readBytes);
  #socket: Socket | undefined;
  /** Of the request under way. */
  #handler: Dispatcher.DispatchHandler | undefined;
  #state: State = 'status';
  /** What there is of a line, and how many bytes of lines there were. */
  #line = '';
  #lineBytes = 0;
  #status = 0;
  #headers: Record<string, string> = {};
  /** Bytes that are left of body or chunk. */
  #left = 0;
  #keep = false;

  constructor(origin: URL, settings: ConnectSettings) {
    this.#origin = origin;
    this.#settings = settings;
  }

  get(
    path: string,
    headers: Readonly<Record<string, string>>,
    handler: Dispatcher.DispatchHandler,
  ): void {
    let head = `GET ${path} HTTP/1.1\r\nhost: ${this.#origin.host}\r\n`;
    for (const [name, value] of Object.entries(headers)) {
      if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) throw new TypeError(`invalid ${name} header`);
      head += `${name}: ${value}\r\n`;
    }
    this.#handler = handler;
    this.#lineBytes = 0;
    this.#begin();
    this.#socket ??= this.#connect();
    this.#socket.write(`${head}\r\n`, 'latin1');
  }

  destroy(error: Error): void {
    this.#fail(error);
  }

  #connect(): Socket {
    const { hostname, port } = this.#origin;
    const { localAddress } = this.#settings;
    let failed: Error | undefined;
    const socket = createConnection({
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: Number(port || 80),
      lookup: lookup as never,
      autoSelectFamily: true,
      noDelay: true,
      keepAlive: true,
      ...(localAddress === '' ? {} : { localAddress }),
      onread: {
        buffer: this.#bytes,
        callback: (length) => {
          if (socket === this.#socket) this.#take(this.#bytes.subarray(0, length));
          return true;
        },
      },
    });
    socket.on('error', (error) => {
      failed = error;
    });
    socket.on('end', () => {
      if (socket === this.#socket && this.#left === Number.POSITIVE_INFINITY) this.#end();
    });
    socket.on('close', () => {
      if (socket !== this.#socket) return;
      this.#fail(failed ?? lost());
    });
    return socket;
  }

  #begin(): void {
    this.#state = 'status';
    this.#line = '';
    this.#headers = {};
    this.#left = 0;
  }

  #take(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      const handler = this.#handler;
      if (handler === undefined) {
        // Nobody asked: also an idle connection's last words.
        this.#close();
        return;
      }
      if (this.#state === 'body' || this.#state === 'chunk') {
        const end = Math.min(bytes.length, at + this.#left);
        handler.onResponseData?.(this.#controller, bytes.subarray(at, end));
        this.#left -= end - at;
        at = end;
        if (this.#left === 0) this.#bodyRead();
      } else {
        const feed = bytes.indexOf(lineFeed, at);
        const end = feed === -1 ? bytes.length : feed;
        this.#lineBytes += end - at + 1;
        if (this.#lineBytes > lineBytesMax) {
          this.#fail(notHttp(`more than ${lineBytesMax} bytes before a page`));
          return;
        }
        this.#line += bytes.toString('latin1', at, end);
        at = end + 1;
        if (feed !== -1) this.#lineRead();
      }
    }
  }

  #bodyRead(): void {
    // Not after the handler has given up.
    if (this.#handler === undefined) return;
    if (this.#state === 'body') this.#end();
    else this.#state = 'chunkEnd';
  }

  #lineRead(): void {
    const line = this.#line.endsWith('\r') ? this.#line.slice(0, -1) : this.#line;
    this.#line = '';
    switch (this.#state) {
      case 'status':
        this.#readStatus(line);
        break;
      case 'headers':
        if (line === '') this.#headersRead();
        else this.#readHeader(line);
        break;
      case 'size':
        this.#readSize(line);
        break;
      case 'chunkEnd':
        if (line === '') this.#state = 'size';
        else this.#fail(notHttp('a chunk is longer than it says'));
        this.#lineBytes = 0;
        break;
      case 'trailers':
        if (line === '') this.#end();
        break;
    }
  }

  #readStatus(line: string): void {
    const [, minor, status] = /^HTTP\/1\.([01]) (\d{3})(?: |$)/.exec(line) ?? [];
    if (status === undefined) {
      this.#fail(notHttp('it does not begin with a status'));
      return;
    }
    this.#status = Number(status);
    this.#keep = minor === '1';
    this.#state = 'headers';
  }

  #readHeader(line: string): void {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    if (colon < 1 || !/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name)) {
      this.#fail(notHttp('a line among its headers is none'));
      return;
    }
    const value = line.slice(colon + 1).trim();
    const former = this.#headers[name];
    // Of a repeated header the first counts, but where two would be a contradiction.
    if (former === undefined) this.#headers[name] = value;
    else if (former !== value && (name === 'content-length' || name === 'transfer-encoding')) {
      this.#fail(notHttp(`two different ${name}`));
    }
  }

  #headersRead(): void {
    const status = this.#status;
    if (status < 200) {
      if (status === 101) this.#fail(notHttp('it would speak another protocol'));
      // What was read counts on: there may be no end of them.
      else this.#begin();
      return;
    }
    const {
      connection = '',
      'transfer-encoding': coding,
      'content-length': length,
    } = this.#headers;
    if (/\bclose\b/i.test(connection)) this.#keep = false;
    else if (/\bkeep-alive\b/i.test(connection)) this.#keep = true;
    if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
      this.#fail(notHttp(`transfer-encoding ${coding}`));
      return;
    }
    if (length !== undefined && (coding !== undefined || !/^\d{1,15}$/.test(length))) {
      this.#fail(notHttp('content-length cannot be'));
      return;
    }
    this.#handler?.onResponseStart?.(this.#controller, status, this.#headers);
    // The handler may have given up.
    if (this.#handler === undefined) return;
    this.#lineBytes = 0;
    if (status === 204 || status === 304) this.#end();
    else if (coding !== undefined) this.#state = 'size';
    else if (length === undefined) {
      this.#keep = false;
      this.#left = Number.POSITIVE_INFINITY;
      this.#state = 'body';
    } else if (Number(length) === 0) this.#end();
    else {
      this.#left = Number(length);
      this.#state = 'body';
    }
  }

  #readSize(line: string): void {
    const [, size] = /^([0-9a-f]{1,12})[ \t]*(?:;|$)/i.exec(line) ?? [];
    if (size === undefined) {
      this.#fail(notHttp('a chunk without its size'));
      return;
    }
    this.#left = Number.parseInt(size, 16);
    this.#lineBytes = 0;
    this.#state = this.#left === 0 ? 'trailers' : 'chunk';
  }

  #end(): void {
    const handler = this.#handler;
    this.#handler = undefined;
    if (!this.#keep) this.#close();
    handler?.onResponseEnd?.(this.#controller, {});
  }

  #fail(error: Error): void {
    const handler = this.#handler;
    this.#handler = undefined;
    this.#close();
    handler?.onResponseError?.(this.#controller, error);
  }

  #close(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.destroy();
  }

  /** What a handler may do here is give up. */
  readonly #controller = {
    abort: (error: Error) => this.#fail(error),
  } as unknown as Dispatcher.DispatchController;
}

function notHttp(what: string): PageError {
  return new PageError(reason.httpStatus, `not HTTP: ${what}`);
}

function lost(): Error {
  return Object.assign(new Error('other side closed'), { code: 'ECONNRESET' });
}
