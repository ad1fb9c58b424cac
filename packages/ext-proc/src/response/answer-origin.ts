/**
 * Whose answer it is that a gateway shows: an upstream's, or one that the gateway made itself because
 * it refused the request or could not bring it to an engine.
 *
 * | sign                                                      | says                             |
 * |-----------------------------------------------------------|----------------------------------|
 * | attribute `response.code_details` (Envoy)                 | exactly which                    |
 * | `x-envoy-upstream-service-time`, a served endpoint        | an upstream's                    |
 * | none of these, status 400 or more                         | the gateway's own                |
 * | … 503 with Envoy's words for a connection that failed     | and the upstream cannot be reached |
 *
 * Without any sign an engine's own error may be taken for the gateway's, which costs a cache hit at
 * most: refused prompts were not computed. Success without a sign is an upstream's.
 *
 * `upstream.address` is none of the signs: Envoy fills it in before it connects.
 */
import { header } from '../headers.ts';
import type { HeaderList } from '../protobuf/header-list.ts';

export const AnswerOrigin = {
  upstream: 0,
  /** The gateway refused, or gave up. */
  gateway: 1,
  /** The gateway could not connect to the endpoint, or lost it before an answer. */
  failedUpstream: 2,
} as const;
export type AnswerOrigin = (typeof AnswerOrigin)[keyof typeof AnswerOrigin];

/** Envoy's `response.code_details` of an answer that it only passed on. */
const viaUpstream = 'via_upstream';
const resetBefore = 'upstream_reset_before_response_started';
/** What its answer begins with when it has none, unless it was told to say something else. */
const connectError = 'upstream connect error or disconnect/reset before headers';
/** Its own limits, in both kinds of text: nothing was tried. */
const overflow = 'overflow';

/** HTTP status, NaN when the gateway does not show one. */
export function statusOf(headers: HeaderList | undefined): number {
  return Number(headers?.get(header.status) ?? Number.NaN);
}

/** By headers and `codeDetails`, undefined where the gateway does not send that attribute. */
export function originOf(
  headers: HeaderList | undefined,
  codeDetails: string | undefined,
  isServedKnown: boolean,
): AnswerOrigin {
  if (codeDetails !== undefined && codeDetails !== '') {
    if (codeDetails === viaUpstream) return AnswerOrigin.upstream;
    const isReset = codeDetails.startsWith(resetBefore) && !codeDetails.includes(overflow);
    return isReset ? AnswerOrigin.failedUpstream : AnswerOrigin.gateway;
  }
  if (!(statusOf(headers) >= 400) || isServedKnown) return AnswerOrigin.upstream;
  const isPassedOn = headers?.get(header.upstreamTime) !== undefined;
  return isPassedOn ? AnswerOrigin.upstream : AnswerOrigin.gateway;
}

/** Whether a gateway's own 503, by the start of its body, tells of a connection that failed. */
export function tellsOfFailedUpstream(body: Uint8Array): boolean {
  if (body.length < connectError.length) return false;
  const text = Buffer.from(body.buffer, body.byteOffset, Math.min(body.length, 512));
  const start = text.toString('latin1');
  return start.startsWith(connectError) && !start.includes(overflow);
}
