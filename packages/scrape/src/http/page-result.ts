/** What a fetch of a page ends with. A failure is a value: it is what the report then says. */
import { type Reason, reason } from '@leadsman/wire';

export interface Page {
  /** The page's bytes, decoded; valid until the next fetch of the same fetcher. */
  bytes: Uint8Array;
  /** From the request to the last byte, all attempts of this fetch included. */
  durationMs: number;
}

export interface PageFailure {
  reason: Reason;
  /** One line for people; names the address that was tried. */
  detail: string;
  durationMs: number;
}

export type PageResult = Page | PageFailure;

export function isPage(result: PageResult): result is Page {
  return 'bytes' in result;
}

/** Thrown within the fetcher only, to leave an exchange early. */
export class PageError extends Error {
  override readonly name = 'PageError';
  readonly code: Reason;

  constructor(code: Reason, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

const connectionLost = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE', 'ECONNABORTED']);

/** Whether a kept-alive connection turned out to be closed by the other side. */
export function isConnectionLost(error: unknown): boolean {
  return connectionLost.has((error as { code?: string }).code ?? '');
}

/** The failure that any error of an exchange means. */
export function failureOf(error: unknown, url: string): { reason: Reason; detail: string } {
  if (error instanceof PageError) return { reason: error.code, detail: `${url}: ${error.message}` };
  const code = (error as { code?: string }).code ?? '';
  const text = describe(error);
  if (
    code.startsWith('HPE_') ||
    code.startsWith('UND_ERR_RES') ||
    code === 'UND_ERR_HEADERS_OVERFLOW'
  ) {
    return { reason: reason.httpStatus, detail: `${url}: not HTTP: ${text}` };
  }
  return { reason: reason.connect, detail: `${url}: ${text}` };
}

/** An error in one line; one that stands for several attempts names each address. */
function describe(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(describe).join('; ');
  if (!(error instanceof Error)) return String(error);
  return error.message === '' ? error.name : error.message;
}
