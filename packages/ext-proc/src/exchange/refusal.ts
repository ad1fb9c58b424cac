/**
 * The responses that the picker gives in an engine's place. Bodies look like OpenAI's errors, since
 * that is what clients of these engines parse; the reason is in a header too, for people and logs.
 */

import { Counter } from '../counters.ts';
import type { HeaderToSet, Refusal } from '../protobuf/processing-response.ts';
import { GrpcStatus } from '../transport/stream.ts';

export const reasonHeader = 'x-leadsman-reason';

export type RefusalKind =
  | 'bad_request'
  | 'too_large'
  | 'shed'
  | 'no_endpoint'
  | 'unknown_pool'
  | 'deadline'
  | 'error';

interface Kind {
  httpStatus: number;
  grpcStatus: number;
  type: string;
  message: string;
  counter: number;
}

const kinds: Readonly<Record<RefusalKind, Kind>> = {
  bad_request: {
    httpStatus: 400,
    grpcStatus: GrpcStatus.invalidArgument,
    type: 'invalid_request_error',
    message: 'The request asks for something that is not allowed here.',
    counter: Counter.refused_bad_request,
  },
  too_large: {
    httpStatus: 413,
    grpcStatus: GrpcStatus.resourceExhausted,
    type: 'invalid_request_error',
    message: 'The request body is larger than this gateway accepts.',
    counter: Counter.refused_too_large,
  },
  shed: {
    httpStatus: 429,
    grpcStatus: GrpcStatus.resourceExhausted,
    type: 'rate_limit_error',
    message: 'The model servers are saturated; try again later.',
    counter: Counter.refused_shed,
  },
  no_endpoint: {
    httpStatus: 503,
    grpcStatus: GrpcStatus.unavailable,
    type: 'service_unavailable_error',
    message: 'No model server is available for this request.',
    counter: Counter.refused_no_endpoint,
  },
  unknown_pool: {
    httpStatus: 503,
    grpcStatus: GrpcStatus.unavailable,
    type: 'service_unavailable_error',
    message: 'The gateway asked for a pool that this picker does not serve.',
    counter: Counter.refused_unknown_pool,
  },
  deadline: {
    httpStatus: 504,
    grpcStatus: GrpcStatus.deadlineExceeded,
    type: 'timeout_error',
    message: 'No model server could be chosen in time.',
    counter: Counter.refused_deadline,
  },
  error: {
    httpStatus: 500,
    grpcStatus: GrpcStatus.internal,
    type: 'internal_error',
    message: 'The endpoint picker failed on this request.',
    counter: Counter.refused_error,
  },
};

export function counterOf(kind: RefusalKind): number {
  return kinds[kind].counter;
}

/** `reason` is of low cardinality; `retryAfterS` of 0 sends no `retry-after`. */
export function refusalOf(
  kind: RefusalKind,
  reason: string,
  retryAfterS: number,
  isGrpc: boolean,
): Refusal {
  const { httpStatus, grpcStatus, type, message } = kinds[kind];
  const code = reason === '' ? kind : reason;
  const headers: HeaderToSet[] = [
    ['content-type', 'application/json'],
    [reasonHeader, code],
  ];
  if (retryAfterS > 0) headers.push(['retry-after', String(Math.ceil(retryAfterS))]);
  return {
    httpStatus,
    headers,
    body: JSON.stringify({ error: { message, type, param: null, code } }),
    grpcStatus: isGrpc ? grpcStatus : undefined,
    details: `leadsman_${code}`,
  };
}
