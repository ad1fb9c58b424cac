/**
 * Stands for the processor that an AI gateway runs before the picker: takes the whole body, puts
 * another in its place with the right length, tells that length in metadata, and clears the route
 * cache.
 */
import { fileURLToPath } from 'node:url';
import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

export interface GatewayProcessor {
  readonly port: number;
  stop(): void;
}

interface Message {
  request?: string;
}

/** `translate` gives the new body. */
export async function startGatewayProcessor(
  translate: (body: Buffer) => string,
): Promise<GatewayProcessor> {
  const definition = loadSync('external_processor.proto', {
    includeDirs: [fileURLToPath(new URL('../../../packages/ext-proc/proto', import.meta.url))],
    keepCase: true,
    oneofs: true,
  });
  const service = definition[
    'envoy.service.ext_proc.v3.ExternalProcessor'
  ] as grpc.ServiceDefinition;
  const server = new grpc.Server({ 'grpc.max_receive_message_length': -1 });
  server.addService(service, {
    Process(call: grpc.ServerDuplexStream<Message & { request_body: { body: Buffer } }, object>) {
      call.on('error', () => {});
      call.on('end', () => call.end());
      call.on('data', (message) => {
        call.write(
          message.request === 'request_body'
            ? bodyReply(translate(message.request_body.body))
            : { request_headers: { response: { clear_route_cache: true } } },
        );
      });
    },
  });
  const port = await new Promise<number>((resolve, reject) => {
    const credentials = grpc.ServerCredentials.createInsecure();
    server.bindAsync('127.0.0.1:0', credentials, (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return { port, stop: () => server.forceShutdown() };
}

function bodyReply(body: string): object {
  const length = String(Buffer.byteLength(body));
  return {
    request_body: {
      response: {
        clear_route_cache: true,
        header_mutation: {
          set_headers: [
            {
              header: { key: 'content-length', raw_value: Buffer.from(length) },
              append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
            },
          ],
        },
        body_mutation: { body: Buffer.from(body) },
      },
    },
    dynamic_metadata: {
      fields: {
        gateway_processor: { structValue: { fields: { content_length: { stringValue: length } } } },
      },
    },
  };
}
