import { expect, test } from 'vitest';
import { BodyMode } from '../body-mode.ts';
import { echoBytesMax, echoMessage } from './echo.ts';
import { ProcessingRequest } from './processing-request.ts';
import { messageHeadroomBytes, ReplyTo } from './processing-response.ts';
import { decodeResponse, encodeRequest } from './reference-codec.ts';

interface Streamed {
  body?: Uint8Array;
  endOfStream?: boolean;
  endOfStreamWithoutMessage?: boolean;
  grpcMessageCompressed?: boolean;
}

/** What a body message comes back as. */
function echo(responseBody: Streamed, mode: BodyMode): Streamed[] {
  const message = new ProcessingRequest();
  message.decode(encodeRequest({ responseBody }));
  const sent: Streamed[] = [];
  const sender = {
    send(reply: Uint8Array) {
      const decoded = decodeResponse(reply.subarray(messageHeadroomBytes)) as {
        responseBody: { response: { bodyMutation: { streamedResponse: Streamed } } };
      };
      sent.push(decoded.responseBody.response.bodyMutation.streamedResponse);
    },
  };
  echoMessage(sender, ReplyTo.responseBody, message, mode);
  return sent;
}

test('a large chunk is echoed in pieces of which only the last ends the body', () => {
  const body = Buffer.alloc(2 * echoBytesMax + 1, 'x');
  const sent = echo({ body, endOfStream: true }, BodyMode.fullDuplex);
  expect(sent.map((piece) => piece.body?.length)).toEqual([echoBytesMax, echoBytesMax, 1]);
  expect(sent.map((piece) => piece.endOfStream ?? false)).toEqual([false, false, true]);
  const whole = body.subarray(0, echoBytesMax);
  expect(echo({ body: whole }, BodyMode.fullDuplex)).toHaveLength(1);
});

test('an empty chunk is echoed only when it ends the body', () => {
  expect(echo({}, BodyMode.fullDuplex)).toEqual([]);
  expect(echo({ endOfStream: true }, BodyMode.fullDuplex)).toEqual([{ endOfStream: true }]);
});

test('a gRPC message is never cut, never left out, and keeps its flags', () => {
  expect(echo({ body: Buffer.alloc(2 * echoBytesMax) }, BodyMode.grpc)).toHaveLength(1);
  expect(echo({}, BodyMode.grpc)).toEqual([{}]);
  const compressed = { body: Buffer.from('z'), endOfStream: true, grpcMessageCompressed: true };
  expect(echo(compressed, BodyMode.grpc)).toEqual([compressed]);
});

test('an end without a message does not become a message', () => {
  const end = { endOfStreamWithoutMessage: true };
  expect(echo(end, BodyMode.grpc)).toEqual([end]);
});
