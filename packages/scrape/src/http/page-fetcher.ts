/**
 * Fetches the page of one target over HTTP: one request in flight, one deadline over all of it
 * (connecting, headers, body, decompression, a retry, a redirect), a cap on the bytes before and
 * after decompression.
 *
 * A scrape costs the engine time of its own event loop, so nothing is asked twice without need:
 * once more on a new connection when the kept-alive one turned out to be closed before a byte of
 * the response came, once when a redirect stays on the same origin (the path is then remembered),
 * once when the engine refused the token and the file has another by now.
 */

import { gunzip } from 'node:zlib';
import { type Reason, reason } from '@leadsman/wire';
import type { ConnectSettings } from './connect-options.ts';
import { PagePath } from './page-path.ts';
import { failureOf, isConnectionLost, PageError, type PageResult } from './page-result.ts';
import { type PageClient, PlainClient } from './plain-client.ts';
import { PageBuffer, type PageResponse, ResponseCollector } from './response-collector.ts';
import { TokenFile } from './token-file.ts';
import { expositionContent, type WantedContent } from './wanted-content.ts';

export interface FetchSettings extends ConnectSettings {
  url: string;
  timeoutMs: number;
  bytesMax: number;
  /** File with a bearer token; empty: none is sent. */
  tokenFile: string;
}

/** Requests of one fetch: the first, a lost connection, a redirect, a new token. */
const attemptsMax = 4;

export class PageFetcher {
  readonly #url: URL;
  readonly #settings: FetchSettings;
  readonly #nowMs: () => number;
  readonly #wanted: WantedContent;
  readonly #token: TokenFile | undefined;
  readonly #buffer = new PageBuffer();
  #client: PageClient | undefined;
  /** The path of a fetch that names none. */
  #own: PagePath;
  /** The path of the fetch under way, or of the last one. */
  #path: PagePath;
  #busy = false;
  #abandon: ((error: Error) => void) | undefined;

  /** Throws TypeError when the URL is none, or is neither http nor https. */
  constructor(settings: FetchSettings, nowMs: () => number, wanted = expositionContent) {
    this.#wanted = wanted;
    this.#url = new URL(settings.url);
    if (this.#url.protocol !== 'http:' && this.#url.protocol !== 'https:') {
      throw new TypeError(`neither http nor https: ${settings.url}`);
    }
    this.#settings = settings;
    this.#nowMs = nowMs;
    this.#own = new PagePath(this.#url.pathname + this.#url.search);
    this.#path = this.#own;
    this.#token = settings.tokenFile === '' ? undefined : new TokenFile(settings.tokenFile, nowMs);
  }

  /** Path and query where the next fetch begins. */
  get path(): string {
    return this.#own.base;
  }

  set path(path: string) {
    this.#own = new PagePath(path);
  }

  /** {@link path}, or where a redirect of the last fetch led from it. */
  get redirectedPath(): string {
    return this.#own.current;
  }

  /**
   * Fetches the page at `path`, by default the fetcher's own, within `timeoutMs`, by default and at
   * most that of the settings. Never rejects. A second call before the first has ended is a
   * programmer's error.
   */
  async fetch(path = this.#own, timeoutMs = this.#settings.timeoutMs): Promise<PageResult> {
    if (this.#busy) throw new Error('a scrape is in flight');
    this.#busy = true;
    this.#path = path;
    const startedAtMs = this.#nowMs();
    const timer = setTimeout(() => {
      this.#drop(new PageError(reason.timeout, `no complete answer within ${timeoutMs} ms`));
    }, timeoutMs);
    try {
      const bytes = await this.#exchange();
      return { bytes, durationMs: this.#nowMs() - startedAtMs };
    } catch (error) {
      // The next scrape begins where the configuration says, on a new connection.
      this.#drop(error as Error);
      const failure = failureOf(error, this.#url.origin + path.current);
      if (failure.reason !== reason.timeout) path.current = path.base;
      return { ...failure, durationMs: this.#nowMs() - startedAtMs };
    } finally {
      clearTimeout(timer);
      this.#busy = false;
    }
  }

  /** Ends a scrape in flight (it fails) and closes the connection. */
  close(): void {
    this.#drop(new PageError(reason.connect, 'the scraper was stopped'));
  }

  async #exchange(): Promise<Uint8Array> {
    let lostConnection = false;
    let redirected = false;
    let renewedToken = false;
    for (let attempt = 1; attempt <= attemptsMax; attempt++) {
      this.#client ??=
        this.#url.protocol === 'http:'
          ? new PlainClient(this.#url, this.#settings)
          : await this.#openTls();
      const response = await this.#request(this.#client);
      if (response instanceof Error) {
        if (lostConnection || !isConnectionLost(response)) throw response;
        lostConnection = true;
        continue;
      }
      const { status } = response;
      if (status === 200) {
        const bytes = await this.#decode(response);
        this.#wanted.checkEnd(bytes, response);
        return bytes;
      }
      if (isRedirect(status)) {
        this.#path.current = this.#redirectPath(response, redirected);
        redirected = true;
        continue;
      }
      if ((status === 401 || status === 403) && !renewedToken && this.#token?.reread() === true) {
        renewedToken = true;
        continue;
      }
      throw new PageError(statusReason(status), `status ${status}`);
    }
    throw new PageError(reason.connect, 'too many attempts');
  }

  async #openTls(): Promise<PageClient> {
    // A process that scrapes by plain text does without it.
    const loading = import('./tls-client.ts');
    const given = new Promise<never>((_, reject) => {
      this.#abandon = reject;
    });
    const { TlsClient } = await Promise.race([loading, given]);
    return new TlsClient(this.#url, this.#settings, this.#settings.timeoutMs);
  }

  /** One request. An error after the response began is thrown, one before it is returned. */
  #request(client: PageClient): Promise<PageResponse | Error> {
    return new Promise((resolve, reject) => {
      const limits = { bytesMax: this.#settings.bytesMax, wanted: this.#wanted };
      const collector = new ResponseCollector(this.#buffer, limits, (outcome) => {
        this.#abandon = undefined;
        if (collector.started && outcome instanceof Error) reject(outcome);
        else resolve(outcome);
      });
      this.#abandon = reject;
      const token = this.#token?.token;
      const headers: Record<string, string> = {
        accept: this.#wanted.accept,
        'accept-encoding': 'identity',
      };
      if (token !== undefined) headers.authorization = `Bearer ${token}`;
      client.get(this.#path.current, headers, collector);
    });
  }

  #redirectPath(response: PageResponse, again: boolean): string {
    if (again) throw new PageError(reason.redirect, 'redirected twice');
    const from = this.#url.origin + this.#path.current;
    const target = URL.canParse(response.location, from)
      ? new URL(response.location, from)
      : undefined;
    if (target === undefined || target.origin !== this.#url.origin) {
      throw new PageError(reason.redirect, `redirected to ${response.location || 'nowhere'}`);
    }
    return target.pathname + target.search;
  }

  async #decode(response: PageResponse): Promise<Uint8Array> {
    const { body, encoding } = response;
    if (encoding === '' || encoding === 'identity') return body;
    if (encoding !== 'gzip' && encoding !== 'x-gzip') {
      throw new PageError(reason.encoding, `the page is encoded as ${encoding}`);
    }
    const { bytesMax } = this.#settings;
    return new Promise((resolve, reject) => {
      this.#abandon = reject;
      gunzip(body, { maxOutputLength: bytesMax }, (error, bytes) => {
        if (error === null) resolve(bytes);
        else if (error.name === 'RangeError') {
          reject(new PageError(reason.tooLarge, `the page is larger than ${bytesMax} bytes`));
        } else reject(new PageError(reason.encoding, `gzip: ${error.message}`));
      });
    });
  }

  /** Gives up whatever is going on, and the connection with it. */
  #drop(error: Error): void {
    const client = this.#client;
    this.#client = undefined;
    const abandon = this.#abandon;
    this.#abandon = undefined;
    abandon?.(error);
    client?.destroy(error);
  }
}

function isRedirect(status: number): boolean {
  return status === 301 || status === 302 || status === 303 || status === 307 || status === 308;
}

function statusReason(status: number): Reason {
  return status === 401 || status === 403 ? reason.unauthorized : reason.httpStatus;
}
