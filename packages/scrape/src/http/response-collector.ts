/**
 * Takes one HTTP response into a buffer that is reused, and ends it as soon as it is known to be
 * useless: wrong status, wrong type, too large. Bound: `bytesMax` as sent on the wire.
 */
import { reason } from '@leadsman/wire';
import type { Dispatcher } from 'undici';
import { PageError } from './page-result.ts';
import type { WantedContent } from './wanted-content.ts';

export interface PageResponse {
  status: number;
  /** The body as sent; empty when the status is not 200. Valid until the next response. */
  body: Buffer;
  encoding: string;
  location: string;
  /** The content type, '' when none is stated. */
  type: string;
  /** The header says how the body ends; else it ends with the connection, whole or not. */
  isFramed: boolean;
}

/** A body that nobody wants (of a redirect or an error) is read to its end up to here. */
const unwantedBytesMax = 65_536;
const bufferBytesAtFirst = 65_536;

/** The page buffer of one fetcher: grows to the largest page, and shrinks after a giant. */
export class PageBuffer {
  bytes: Buffer = Buffer.allocUnsafeSlow(bufferBytesAtFirst);
  length = 0;

  reset(): void {
    if (this.bytes.length > 16 * bufferBytesAtFirst && this.length < this.bytes.length / 8) {
      this.bytes = Buffer.allocUnsafeSlow(bufferBytesAtFirst);
    }
    this.length = 0;
  }

  append(chunk: Uint8Array): void {
    const needed = this.length + chunk.length;
    if (needed > this.bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.bytes.length * 2));
      this.bytes.copy(larger, 0, 0, this.length);
      this.bytes = larger;
    }
    this.bytes.set(chunk, this.length);
    this.length = needed;
  }
}

export interface ResponseLimits {
  bytesMax: number;
  wanted: WantedContent;
}

export class ResponseCollector implements Dispatcher.DispatchHandler {
  /** Whether anything of a response arrived: then a retry would be a second scrape. */
  started = false;
  readonly #buffer: PageBuffer;
  readonly #bytesMax: number;
  readonly #wanted: WantedContent;
  readonly #settle: (outcome: PageResponse | Error) => void;
  #response: PageResponse = {
    status: 0,
    body: Buffer.alloc(0),
    encoding: '',
    location: '',
    type: '',
    isFramed: false,
  };
  #unwantedBytes = 0;

  constructor(
    buffer: PageBuffer,
    limits: ResponseLimits,
    settle: (outcome: PageResponse | Error) => void,
  ) {
    this.#buffer = buffer;
    this.#bytesMax = limits.bytesMax;
    this.#wanted = limits.wanted;
    this.#settle = settle;
    buffer.reset();
  }

  onRequestStart(): void {}

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.started = true;
    const encoding = header(headers, 'content-encoding').toLowerCase();
    const location = header(headers, 'location');
    const type = header(headers, 'content-type');
    const length = header(headers, 'content-length');
    const isFramed = length !== '' || header(headers, 'transfer-encoding') !== '';
    const { body } = this.#response;
    this.#response = { status, body, encoding, location, type, isFramed };
    if (status !== 200) return;
    if (!this.#wanted.isType(type)) {
      controller.abort(new PageError(reason.contentType, `the page is ${type}`));
    } else if (Number(length) > this.#bytesMax) {
      controller.abort(this.#tooLarge());
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#response.status !== 200) {
      this.#unwantedBytes += chunk.length;
      if (this.#unwantedBytes > unwantedBytesMax) {
        controller.abort(
          new PageError(reason.httpStatus, `status ${this.#response.status} and an endless body`),
        );
      }
      return;
    }
    if (this.#buffer.length + chunk.length > this.#bytesMax) controller.abort(this.#tooLarge());
    else this.#buffer.append(chunk);
  }

  onResponseEnd(): void {
    const { bytes, length } = this.#buffer;
    this.#settle({ ...this.#response, body: bytes.subarray(0, length) });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#settle(error);
  }

  #tooLarge(): PageError {
    return new PageError(reason.tooLarge, `the page is larger than ${this.#bytesMax} bytes`);
  }
}

function header(headers: Record<string, string | string[] | undefined>, name: string): string {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}
