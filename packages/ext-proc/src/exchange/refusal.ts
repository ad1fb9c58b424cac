/**
 * The responses that the picker gives in an engine's place. Bodies look like OpenAI's errors, since
 * that is what clients of these engines parse; the reason is in a header too, for people and logs.
 */

import type { WaitOutcome } from '@leadsman/scheduling/scheduler';
import { Counter } from '../counters.ts';
import { header } from '../headers.ts';
import type { HeaderToSet, Refusal } from '../protobuf/processing-response.ts';
import { GrpcStatus } from '../transport/stream.ts';

export type RefusalKind =
  | 'bad_request'
  | 'too_large'
  | 'shed'
  | 'no_endpoint'
  | 'draining'
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
  draining: {
    httpStatus: 503,
    grpcStatus: GrpcStatus.unavailable,
    type: 'service_unavailable_error',
    message: 'This picker is going out of service; try again.',
    counter: Counter.refused_draining,
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

/** What a wait that ended so is answered with. */
export function kindOfOutcome(outcome: Exclude<WaitOutcome, 'dispatched'>): RefusalKind {
  switch (outcome) {
    case 'rejected-saturated':
    case 'rejected-ttl-expired':
      return 'shed';
    case 'rejected-no-endpoints':
      return 'no_endpoint';
    case 'draining':
      return 'draining';
    case 'cancelled':
      return 'error';
  }
}

/** `undefined`: others have no word for it. */
function droppedReason(kind: RefusalKind, reason: string): string | undefined {
  if (reason === 'rejected-ttl-expired') return reason;
  if (kind === 'shed') return 'rejected-saturated';
  return kind === 'no_endpoint' ? 'rejected-no-endpoints' : undefined;
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
    [header.reason, code],
  ];
  const dropped = droppedReason(kind, reason);
  if (dropped !== undefined) headers.push([header.droppedReason, dropped]);
  if (retryAfterS > 0) headers.push(['retry-after', String(Math.ceil(retryAfterS))]);
  return {
    httpStatus,
    headers,
    body: JSON.stringify({ error: { message, type, param: null, code } }),
    grpcStatus: isGrpc ? grpcStatus : undefined,
    details: `leadsman_${code}`,
  };
}
