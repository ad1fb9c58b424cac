/**
 * The responses that the picker gives in an engine's place, in one list. Bodies look like OpenAI's
 * errors, since that is what clients of these engines parse. One word says why: the body's `code`,
 * our header, and the outcome or the name of the counter in the metrics are the same; tools made for
 * llm-d find its coarser word in its own header. 429 only where trying again soon helps.
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
  | 'waited_too_long'
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
  /** Of llm-d; '' where it has none. */
  droppedReason: string;
}

const kinds: Readonly<Record<RefusalKind, Kind>> = {
  bad_request: {
    httpStatus: 400,
    grpcStatus: GrpcStatus.invalidArgument,
    type: 'invalid_request_error',
    message: 'The request asks for something that is not allowed here.',
    counter: Counter.refused_bad_request,
    droppedReason: '',
  },
  too_large: {
    httpStatus: 413,
    grpcStatus: GrpcStatus.resourceExhausted,
    type: 'invalid_request_error',
    message: 'The request body is larger than this gateway accepts.',
    counter: Counter.refused_too_large,
    droppedReason: '',
  },
  shed: {
    httpStatus: 429,
    grpcStatus: GrpcStatus.resourceExhausted,
    type: 'rate_limit_error',
    message: 'The model servers are saturated; try again later.',
    counter: Counter.refused_shed,
    droppedReason: 'rejected-saturated',
  },
  no_endpoint: {
    httpStatus: 503,
    grpcStatus: GrpcStatus.unavailable,
    type: 'service_unavailable_error',
    message: 'No model server is available for this request.',
    counter: Counter.refused_no_endpoint,
    droppedReason: 'rejected-no-endpoints',
  },
  waited_too_long: {
    httpStatus: 429,
    grpcStatus: GrpcStatus.resourceExhausted,
    type: 'rate_limit_error',
    message: 'The model servers were busy for as long as this request may wait; try again later.',
    counter: Counter.refused_waited_too_long,
    droppedReason: 'rejected-ttl-expired',
  },
  draining: {
    httpStatus: 503,
    grpcStatus: GrpcStatus.unavailable,
    type: 'service_unavailable_error',
    message: 'This picker is going out of service; try again.',
    counter: Counter.refused_draining,
    droppedReason: '',
  },
  unknown_pool: {
    httpStatus: 503,
    grpcStatus: GrpcStatus.unavailable,
    type: 'service_unavailable_error',
    message: 'The gateway asked for a pool that this picker does not serve.',
    counter: Counter.refused_unknown_pool,
    droppedReason: 'rejected-no-endpoints',
  },
  deadline: {
    httpStatus: 504,
    grpcStatus: GrpcStatus.deadlineExceeded,
    type: 'timeout_error',
    message: 'No model server could be chosen in time.',
    counter: Counter.refused_deadline,
    droppedReason: 'rejected-ttl-expired',
  },
  error: {
    httpStatus: 500,
    grpcStatus: GrpcStatus.internal,
    type: 'internal_error',
    message: 'The endpoint picker failed on this request.',
    counter: Counter.refused_error,
    droppedReason: '',
  },
};

export function counterOf(kind: RefusalKind): number {
  return kinds[kind].counter;
}

/** What a wait that ended so is answered with. */
export function kindOfOutcome(outcome: Exclude<WaitOutcome, 'dispatched'>): RefusalKind {
  switch (outcome) {
    case 'rejected-saturated':
      return 'shed';
    case 'rejected-ttl-expired':
      return 'waited_too_long';
    case 'rejected-no-endpoints':
      return 'no_endpoint';
    case 'draining':
      return 'draining';
    case 'cancelled':
      return 'error';
  }
}

/** `reason` is of low cardinality; `retryAfterS` of 0 sends no `retry-after`, but with a 429. */
export function refusalOf(
  kind: RefusalKind,
  reason: string,
  retryAfterS: number,
  isGrpc: boolean,
): Refusal {
  const { httpStatus, grpcStatus, type, message, droppedReason } = kinds[kind];
  const code = reason === '' ? kind : reason;
  const headers: HeaderToSet[] = [
    [header.contentType, 'application/json'],
    [header.reason, code],
  ];
  // A request that waited in vain is shed, but not for want of room.
  const dropped = reason === 'rejected-ttl-expired' ? reason : droppedReason;
  if (dropped !== '') headers.push([header.droppedReason, dropped]);
  // A 429 asks to try again, so it says when.
  const waitS = Math.max(retryAfterS, httpStatus === 429 ? 1 : 0);
  if (waitS > 0) headers.push([header.retryAfter, String(Math.ceil(waitS))]);
  return {
    httpStatus,
    headers,
    body: JSON.stringify({ error: { message, type, param: null, code } }),
    grpcStatus: isGrpc ? grpcStatus : undefined,
    details: `leadsman_${code}`,
  };
}
