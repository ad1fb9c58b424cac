import { expect, test } from 'vitest';
import { ProcessingRequest } from '../protobuf/processing-request.ts';
import { encodeRequest } from '../protobuf/reference-codec.ts';
import { AnswerOrigin, originOf, tellsOfFailedUpstream } from './answer-origin.ts';

function headersOf(list: Record<string, string>) {
  const headers = Object.entries(list).map(([key, value]) => ({
    key,
    rawValue: Buffer.from(value),
  }));
  const decoded = new ProcessingRequest();
  decoded.decode(encodeRequest({ responseHeaders: { headers: { headers } } }));
  return decoded.headers;
}
const passedOn = { 'x-envoy-upstream-service-time': '3' };
const { upstream, gateway, failedUpstream } = AnswerOrigin;

test.each([
  [{ ':status': '200' }, undefined, false, upstream],
  [{}, undefined, false, upstream],
  [{ ':status': '429', 'x-envoy-ratelimited': 'true' }, undefined, false, gateway],
  [{ ':status': '429', ...passedOn }, undefined, false, upstream],
  [{ ':status': '500' }, undefined, true, upstream],
  [{ ':status': '400' }, 'via_upstream', false, upstream],
  [{ ':status': '503', ...passedOn }, 'overload', true, gateway],
  [
    { ':status': '503' },
    'upstream_reset_before_response_started{connection_failure}',
    true,
    failedUpstream,
  ],
  [{ ':status': '503' }, 'upstream_reset_before_response_started{overflow}', false, gateway],
] as const)('%j with details %s, served known %s: %i', (list, details, isServedKnown, expected) => {
  expect(originOf(headersOf(list), details, isServedKnown)).toBe(expected);
});

test('a body tells of a failed connection in Envoy’s own words only', () => {
  const words = 'upstream connect error or disconnect/reset before headers. reset reason: ';
  expect(tellsOfFailedUpstream(Buffer.from(`${words}connection termination`))).toBe(true);
  expect(tellsOfFailedUpstream(Buffer.from(`${words}overflow`))).toBe(false);
  expect(tellsOfFailedUpstream(Buffer.from('no healthy upstream'))).toBe(false);
  expect(tellsOfFailedUpstream(Buffer.from(''))).toBe(false);
});
