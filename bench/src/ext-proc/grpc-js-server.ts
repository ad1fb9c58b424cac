/** The same exchange served by @grpc/grpc-js as its documentation shows: proto-loader, objects. */
import { fileURLToPath } from 'node:url';
import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { FewestInFlight } from './pick-among.ts';

interface Message {
  request?: string;
  request_headers?: { headers: { headers: { key: string; raw_value: Buffer }[] } };
  request_body?: { body: Buffer; end_of_stream: boolean };
}

const destinationHeader = 'x-gateway-destination-endpoint';

/** Serves on a free port of 127.0.0.1 and resolves to it. */
export async function startGrpcJsServer(): Promise<number> {
  const folder = fileURLToPath(new URL('../../../packages/ext-proc/proto', import.meta.url));
  const definition = loadSync('external_processor.proto', {
    includeDirs: [folder],
    keepCase: true,
    oneofs: true,
  });
  const service = definition[
    'envoy.service.ext_proc.v3.ExternalProcessor'
  ] as grpc.ServiceDefinition;
  const among = new FewestInFlight();
  const server = new grpc.Server();
  server.addService(service, { Process: (call: Call) => process_(call, among) });
  return new Promise((resolve, reject) => {
    const credentials = grpc.ServerCredentials.createInsecure();
    server.bindAsync('127.0.0.1:0', credentials, (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
}

type Call = grpc.ServerDuplexStream<Message, object>;

function process_(call: Call, among: FewestInFlight): void {
  let position = -1;
  let requestId = '';
  call.on('data', (message: Message) => {
    if (message.request === 'request_headers') {
      for (const header of message.request_headers!.headers.headers) {
        if (header.key === 'x-request-id') requestId = header.raw_value.toString();
      }
      return;
    }
    const { body } = message.request_body!;
    if (JSON.parse(body.toString()).model !== 'bench' || requestId === '') throw new Error('bad');
    position = among.take();
    const destination = among.destinations[position]!;
    call.write({
      request_headers: { response: { header_mutation: mutation(destination) } },
      dynamic_metadata: metadata(destination),
    });
    call.write({
      request_body: {
        response: { body_mutation: { streamed_response: { body, end_of_stream: true } } },
      },
    });
  });
  call.on('end', () => {
    if (position >= 0) among.giveBack(position);
    call.end();
  });
  call.on('error', () => {});
}

function mutation(destination: string): object {
  return {
    set_headers: [
      {
        header: { key: destinationHeader, raw_value: Buffer.from(destination) },
        append_action: 2,
      },
    ],
  };
}

function metadata(destination: string): object {
  const inner = { fields: { [destinationHeader]: { stringValue: destination } } };
  return { fields: { 'envoy.lb': { structValue: inner } } };
}
