import { expect, test } from 'vitest';
import {
  headersReply,
  immediateReply,
  messageHeadroomBytes,
  noOpReply,
  pickReply,
  ReplyTo,
} from './processing-response.ts';
import { decodeResponse } from './reference-codec.ts';

const read = (reply: Buffer) => decodeResponse(reply.subarray(messageHeadroomBytes));
const destination = '[fd00::1]:8000';

test('a pick on headers sets the header by raw_value, overwriting, and the metadata', () => {
  expect(read(pickReply(ReplyTo.requestHeaders, destination))).toEqual({
    requestHeaders: {
      response: {
        headerMutation: {
          setHeaders: [
            {
              header: {
                key: 'x-gateway-destination-endpoint',
                rawValue: Buffer.from(destination),
              },
              appendAction: 'OVERWRITE_IF_EXISTS_OR_ADD',
            },
          ],
        },
      },
    },
    dynamicMetadata: {
      fields: {
        'envoy.lb': {
          structValue: {
            fields: { 'x-gateway-destination-endpoint': { stringValue: destination } },
          },
        },
      },
    },
  });
});

test('a pick on a body is the same in a body reply; on trailers only metadata', () => {
  expect(read(pickReply(ReplyTo.requestBody, destination))).toHaveProperty(
    'requestBody.response.headerMutation.setHeaders',
  );
  const onTrailers = read(pickReply(ReplyTo.requestTrailers, destination));
  expect(onTrailers.requestTrailers).toEqual({});
  expect(onTrailers).toHaveProperty('dynamicMetadata.fields');
});

test('a no-op of each kind is the kind and nothing else', () => {
  const kinds = Object.entries(ReplyTo);
  for (const [name, to] of kinds) expect(read(noOpReply(to))).toEqual({ [name]: {} });
  expect(kinds).toHaveLength(6);
});

test('headers can be set and removed', () => {
  const reply = read(headersReply(ReplyTo.responseHeaders, [['a', 'b']], ['c']));
  expect(reply).toMatchObject({
    responseHeaders: { response: { headerMutation: { removeHeaders: ['c'] } } },
  });
});

test('an immediate response has status, headers, body, details, and a gRPC status if asked for', () => {
  const refusal = {
    httpStatus: 503,
    headers: [['retry-after', '2']] as const,
    body: '{}',
    grpcStatus: undefined,
    details: 'why',
  };
  const plain = read(immediateReply(refusal)).immediateResponse as Record<string, unknown>;
  expect(plain).toMatchObject({ status: { code: 503 }, body: Buffer.from('{}'), details: 'why' });
  expect(plain.grpcStatus).toBeUndefined();
  expect(read(immediateReply({ ...refusal, grpcStatus: 14 }))).toMatchObject({
    immediateResponse: { grpcStatus: { status: 14 } },
  });
});
