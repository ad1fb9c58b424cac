/**
 * One request to the API server: JSON in and out, or a stream of lines.
 *
 * Every failure is a {@link KubeError}; a request that gets no byte for `idleMs` is one. Nothing
 * retries here: waiting is the caller's decision, as only it knows what the answer is for.
 */
import { type IncomingMessage, request as plainRequest, type RequestOptions } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { KubeAccess } from './access.ts';
import { codeOfStatus, KubeError, kubeErrorCode } from './error.ts';
import { JsonLines } from './json-lines.ts';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface RequestSettings {
  readonly query?: Query;
  readonly body?: unknown;
  /** Of the body; a patch needs its own. */
  readonly contentType?: string;
  /** Longest silence before and within the answer, ms. */
  readonly idleMs?: number;
  readonly signal?: AbortSignal;
}

/** A page of 500 pods is about 5 MB of JSON; nothing we ask for is larger. */
const bodyBytesMax = 64 * 1024 * 1024;
const idleMsDefault = 30_000;
/** The kernel finds a dead peer within about 25 s: 15 s idle, then ten probes a second apart. */
const keepAliveMs = 15_000;

export class KubeClient {
  readonly access: KubeAccess;

  constructor(access: KubeAccess) {
    this.access = access;
  }

  /** Sends a request and parses the answer. Throws {@link KubeError}. */
  async json(method: string, path: string, settings: RequestSettings = {}): Promise<unknown> {
    const response = await this.#open(method, path, settings);
    const text = (await readAll(response, path)).toString('utf8');
    if (!isSuccess(response)) throw failure(response, path, text);
    if (text === '') return undefined;
    try {
      return JSON.parse(text);
    } catch (cause) {
      throw new KubeError(kubeErrorCode.protocol, `${path}: the answer is not JSON`, { cause });
    }
  }

  /**
   * Reads a stream of JSON lines until the server ends it; each goes to `onLine`, and `onOpen`
   * is called when the server has agreed. Returns on a normal end, throws {@link KubeError}
   * otherwise, and what `onLine` throws.
   */
  async lines(
    path: string,
    settings: RequestSettings,
    onLine: (value: unknown) => void,
    onOpen?: () => void,
  ): Promise<void> {
    const response = await this.#open('GET', path, settings);
    if (!isSuccess(response)) {
      throw failure(response, path, (await readAll(response, path)).toString('utf8'));
    }
    onOpen?.();
    const reader = new JsonLines(onLine);
    await consume(response, path, (piece) => reader.push(piece));
  }

  async #open(method: string, path: string, settings: RequestSettings): Promise<IncomingMessage> {
    const url = target(this.access.server, path, settings.query);
    let options: RequestOptions;
    try {
      options = await this.access.authenticate();
    } catch (cause) {
      if (cause instanceof KubeError) throw cause;
      throw new KubeError(kubeErrorCode.unauthorized, `no credentials: ${inWords(cause)}`, {
        cause,
      });
    }
    const body = settings.body === undefined ? undefined : JSON.stringify(settings.body);
    const headers = {
      ...options.headers,
      accept: 'application/json',
      'user-agent': 'leadsman',
      ...(body === undefined
        ? {}
        : {
            'content-type': settings.contentType ?? 'application/json',
            'content-length': Buffer.byteLength(body),
          }),
    };
    const send = url.protocol === 'http:' ? plainRequest : secureRequest;
    const idleMs = settings.idleMs ?? idleMsDefault;
    return new Promise((resolve, reject) => {
      const request = send(url, {
        ...options,
        method,
        headers,
        // As an option, as only then it holds for looking the name up and for connecting too.
        timeout: idleMs,
        ...(settings.signal === undefined ? {} : { signal: settings.signal }),
      });
      request.setSocketKeepAlive(true, keepAliveMs);
      let response: IncomingMessage | undefined;
      request.on('timeout', () => {
        const error = new KubeError(kubeErrorCode.timeout, `${path}: no byte for ${idleMs} ms`);
        // Once there is a response, an error given to the request would be lost.
        (response ?? request).destroy(error);
      });
      request.on('response', (arrived) => {
        response = arrived;
        resolve(arrived);
      });
      // Stays after the response, when the reader learns of an error by the response itself.
      request.on('error', (error) => reject(asKubeError(error, path)));
      request.end(body);
    });
  }
}

function target(server: URL, path: string, query: Query | undefined): URL {
  const url = new URL(server);
  url.pathname = url.pathname.replace(/\/$/, '') + path;
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return url;
}

function isSuccess(response: IncomingMessage): boolean {
  const status = response.statusCode ?? 0;
  return status >= 200 && status < 300;
}

async function readAll(response: IncomingMessage, path: string): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  await consume(response, path, (piece) => {
    bytes += piece.length;
    if (bytes > bodyBytesMax) {
      throw new KubeError(kubeErrorCode.protocol, `the answer exceeds ${bodyBytesMax} bytes`);
    }
    pieces.push(piece);
  });
  return Buffer.concat(pieces);
}

/** Feeds every piece to `take`; what it throws ends the response and this promise. */
function consume(
  response: IncomingMessage,
  path: string,
  take: (piece: Buffer) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => reject(asKubeError(error, path));
    response.on('data', (piece: Buffer) => {
      try {
        take(piece);
      } catch (error) {
        reject(error);
        response.destroy();
      }
    });
    response.on('error', fail);
    response.on('close', () => {
      if (response.complete) resolve();
      else fail(new Error('the connection broke within the answer'));
    });
  });
}

function failure(response: IncomingMessage, path: string, text: string): KubeError {
  const status = response.statusCode ?? 0;
  const seconds = Number(response.headers['retry-after'] ?? 0);
  return new KubeError(codeOfStatus(status), `${path}: ${status} ${said(text)}`, {
    status,
    retryAfterMs: Number.isFinite(seconds) ? Math.min(60, Math.max(0, seconds)) * 1_000 : 0,
  });
}

/** The message of a Status, or the beginning of whatever came. */
function said(text: string): string {
  try {
    const message: unknown = JSON.parse(text).message;
    if (typeof message === 'string') return message.slice(0, 300);
  } catch {
    // Not a Status: a proxy's page, for example.
  }
  return text.slice(0, 120);
}

function asKubeError(error: unknown, path: string): KubeError {
  if (error instanceof KubeError) return error;
  return new KubeError(kubeErrorCode.connect, `${path}: ${inWords(error)}`, { cause: error });
}

/** Node's error for a name with several addresses has no text of its own, only those of each. */
function inWords(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(inWords).join('; ');
  return error instanceof Error ? error.message || error.name : String(error);
}
