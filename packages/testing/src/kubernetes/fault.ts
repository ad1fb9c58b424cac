/** What a test can make the fake API server do to a request. */

export interface SeenRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly watch: boolean;
  /** Milliseconds since the server's start. */
  readonly atMs: number;
}

export type Fault =
  /** Answer with this status and a Status object. */
  | { readonly status: number; readonly message?: string; readonly retryAfterS?: number }
  /** Begin a watch with 200 and send a Status of this code as an ERROR event. */
  | { readonly errorEvent: number }
  /** Close the connection without an answer. */
  | { readonly reset: true }
  /** Answer only after this time. */
  | { readonly delayMs: number }
  /** Take the request and never answer; for a watch: agree, and never send an event. */
  | { readonly silent: true }
  /** Send this text as a 200 answer. */
  | { readonly body: string };

/** Decides for each request; undefined: serve it. */
export type FaultRule = (request: SeenRequest) => Fault | undefined;

/** A Status object, as the API server answers instead of an object. */
export function statusObject(code: number, message: string): Record<string, unknown> {
  const reasons: Record<number, string> = {
    401: 'Unauthorized',
    403: 'Forbidden',
    404: 'NotFound',
    409: 'Conflict',
    410: 'Expired',
    422: 'Invalid',
    429: 'TooManyRequests',
    503: 'ServiceUnavailable',
  };
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: code < 400 ? 'Success' : 'Failure',
    reason: reasons[code] ?? 'InternalError',
    message,
    code,
  };
}
