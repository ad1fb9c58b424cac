/** ProcessingRequests as framed bytes, made once from the .proto so that clients cost little. */
import { fileURLToPath } from 'node:url';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const definition = loadSync('external_processor.proto', {
  includeDirs: [fileURLToPath(new URL('../../../packages/ext-proc/proto', import.meta.url))],
  keepCase: true,
});
const service = definition['envoy.service.ext_proc.v3.ExternalProcessor'] as ServiceDefinition;

/** One message with gRPC's five bytes in front. */
export function framed(message: object): Buffer {
  const bytes = service.Process!.requestSerialize(message);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}
