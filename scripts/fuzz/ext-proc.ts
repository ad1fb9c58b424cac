/** Messages of a gateway, through the decoder and all that looks into metadata and attributes. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { servedEndpoint, subsetHint } from '../../packages/ext-proc/src/exchange/gateway-hints.ts';
import { ProcessingRequest } from '../../packages/ext-proc/src/protobuf/processing-request.ts';
import { ProtobufError } from '../../packages/ext-proc/src/protobuf/reader.ts';
import { encodeRequest } from '../../packages/ext-proc/src/protobuf/reference-codec.ts';
import { type Check, decodesOr, type FuzzTarget } from './target.ts';

const pair = fc.record({
  key: fc.constantFrom(':path', ':method', 'x-request-id', 'content-type', 'content-length'),
  rawValue: fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
});
const headers = fc.record({
  headers: fc.record({ headers: fc.array(pair, { maxLength: 6 }) }),
  endOfStream: fc.boolean(),
});
const body = fc.record({
  body: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  endOfStream: fc.boolean(),
});
const hint = {
  filterMetadata: {
    'envoy.lb.subset_hint': {
      fields: {
        'x-gateway-destination-endpoint-subset': {
          listValue: { values: [{ stringValue: '10.0.0.1:80' }, { stringValue: '[fd00::1]:80' }] },
        },
      },
    },
  },
};
const attributes = {
  'envoy.filters.http.ext_proc': {
    fields: { 'upstream.address': { stringValue: '10.0.0.1:80' } },
  },
};
const sound = fc.oneof(
  fc.record({
    requestHeaders: headers,
    metadataContext: fc.constantFrom({}, hint),
    protocolConfig: fc.constantFrom({}, { requestBodyMode: 4, responseBodyMode: 2 }),
  }),
  fc.record({ responseHeaders: headers, attributes: fc.constantFrom({}, attributes) }),
  fc.record({ requestBody: body }),
  fc.record({ responseBody: body }),
  fc.record({ responseTrailers: fc.constant({ trailers: { headers: [] } }) }),
);

const message = new ProcessingRequest();

function read(input: Uint8Array): void {
  message.decode(input);
  for (const name of [':path', 'x-request-id', 'content-length']) message.headers?.get(name);
  subsetHint(message);
  servedEndpoint(message);
  if (message.body.length > 0) staysWithin(input, message.body);
}

/** Echoed bytes are the sender's own, never a neighbour's in the same buffer. */
function staysWithin(input: Uint8Array, view: Uint8Array): void {
  if (view.buffer !== input.buffer) return;
  const from = view.byteOffset - input.byteOffset;
  assert.ok(from >= 0 && from + view.length <= input.length, 'a body reaches beyond its message');
}

function check(decode: Check, input: Uint8Array): void {
  // Within a larger buffer, as messages are that lie in one DATA frame.
  const neighbours = Buffer.concat([Buffer.alloc(32, 0x41), input, Buffer.alloc(32, 0x42)]);
  const at = neighbours.subarray(32, 32 + input.length);
  if (decodesOr(ProtobufError, () => decode(at))) decodesOr(ProtobufError, () => decode(at));
}

export const extProc: FuzzTarget = {
  name: 'ext-proc',
  sound: sound.map((each) => Uint8Array.from(encodeRequest(each))),
  tokens: [
    ...['x-gateway-destination-endpoint-subset', 'envoy.lb.subset_hint', 'upstream.address'],
    ...[
      [0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f],
      [0x12, 0x80],
      [0x42, 0],
      [0x4a, 0],
      [0x5b, 0x5c],
    ].map((bytes) => Uint8Array.from(bytes)),
  ],
  check: (input) => check(read, input),
  planted: {
    what: 'the length of a body is believed beyond the end of its message',
    check: (input) =>
      check((bytes) => {
        const [part, , field, length = 0] = bytes;
        const isBody = part === 0x22 && field === 0x0a && length > 0 && length < 0x80;
        if (isBody) staysWithin(bytes, new Uint8Array(bytes.buffer, bytes.byteOffset + 4, length));
        read(bytes);
      }, input),
  },
};
