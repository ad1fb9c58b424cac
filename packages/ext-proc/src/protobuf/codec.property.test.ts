import fc from 'fast-check';
import { expect, test } from 'vitest';
import { servedEndpoint, subsetHint } from '../exchange/gateway-hints.ts';
import { EchoFlag, echoReply } from './echo.ts';
import { ProcessingRequest } from './processing-request.ts';
import { messageHeadroomBytes, ReplyTo } from './processing-response.ts';
import { ProtobufError } from './reader.ts';
import { decodeResponse, encodeRequest } from './reference-codec.ts';

const bytes = (maxLength: number) => fc.uint8Array({ maxLength });
const text = fc.string({ maxLength: 40 });

test('arbitrary bytes decode or fail with the typed error, hints included', () => {
  const decoded = new ProcessingRequest();
  fc.assert(
    fc.property(bytes(400), (input) => {
      try {
        decoded.decode(input);
        decoded.headers?.get('x-request-id');
        subsetHint(decoded);
        servedEndpoint(decoded);
      } catch (error) {
        expect(error).toBeInstanceOf(ProtobufError);
      }
    }),
    { numRuns: 2_000 },
  );
});

test('a valid message with one byte changed decodes or fails with the typed error', () => {
  const valid = encodeRequest({
    requestHeaders: { headers: { headers: [{ key: 'a', rawValue: Buffer.from('b') }] } },
    metadataContext: {
      filterMetadata: {
        'envoy.lb.subset_hint': {
          fields: {
            'x-gateway-destination-endpoint-subset': {
              listValue: { values: [{ stringValue: '10.0.0.1:80' }] },
            },
          },
        },
      },
    },
    protocolConfig: { requestBodyMode: 2 },
  });
  const decoded = new ProcessingRequest();
  fc.assert(
    fc.property(fc.nat(valid.length - 1), fc.nat(255), (at, value) => {
      const changed = Uint8Array.from(valid);
      changed[at] = value;
      try {
        decoded.decode(changed);
        decoded.headers?.get('a');
        subsetHint(decoded);
      } catch (error) {
        expect(error).toBeInstanceOf(ProtobufError);
      }
    }),
    { numRuns: 2_000 },
  );
});

test('any headers come out as another library put them in', () => {
  const decoded = new ProcessingRequest();
  const headers = fc.array(fc.tuple(fc.stringMatching(/^[a-z-]{1,20}$/), text), { maxLength: 20 });
  fc.assert(
    fc.property(headers, (pairs) => {
      decoded.decode(
        encodeRequest({
          requestHeaders: {
            headers: {
              headers: pairs.map(([key, value]) => ({
                key,
                rawValue: Buffer.from(value, 'latin1'),
              })),
            },
          },
        }),
      );
      for (const [key] of pairs) {
        const first = pairs.find(([name]) => name === key)![1];
        expect(decoded.headers?.get(key)).toBe(Buffer.from(first, 'latin1').toString('latin1'));
      }
    }),
  );
});

test('an echoed chunk of any size is what another library reads', () => {
  fc.assert(
    fc.property(bytes(70_000), fc.boolean(), (body, endOfStream) => {
      const reply = echoReply(
        ReplyTo.requestBody,
        body,
        endOfStream ? EchoFlag.endOfStream : EchoFlag.none,
      );
      const read = decodeResponse(reply.subarray(messageHeadroomBytes));
      const streamed = (
        read as {
          requestBody: {
            response: {
              bodyMutation: { streamedResponse: { body?: Uint8Array; endOfStream?: boolean } };
            };
          };
        }
      ).requestBody.response.bodyMutation.streamedResponse;
      expect(Buffer.from(streamed.body ?? []).equals(body)).toBe(true);
      expect(streamed.endOfStream ?? false).toBe(endOfStream);
    }),
    { numRuns: 60 },
  );
});
