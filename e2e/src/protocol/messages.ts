/** ProcessingRequests as bytes, for clients that speak bare HTTP/2 at speed. */
import { fileURLToPath } from 'node:url';
import type * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { headerMap } from './client.ts';
import { frame } from './raw-call.ts';

const definition = loadSync('external_processor.proto', {
  includeDirs: [fileURLToPath(new URL('../../../packages/ext-proc/proto', import.meta.url))],
  keepCase: true,
});
const service = definition['envoy.service.ext_proc.v3.ExternalProcessor'] as grpc.ServiceDefinition;

/** One framed message. */
export function framed(message: object): Buffer {
  return frame(service.Process!.requestSerialize(message));
}

/** Request headers of a request without a body, in mode NONE. */
export function framedHeaders(requestId: string): Buffer {
  return framed({
    request_headers: {
      headers: headerMap({
        ':method': 'POST',
        ':path': '/v1/completions',
        'x-request-id': requestId,
      }),
      end_of_stream: true,
    },
    protocol_config: {},
  });
}
