/** The same messages by protobufjs, from the .proto file: what the hand-written codec is checked against. */
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';

const root = protobuf.loadSync(
  fileURLToPath(new URL('../../proto/external_processor.proto', import.meta.url)),
);
const requestType = root.lookupType('envoy.service.ext_proc.v3.ProcessingRequest');
const responseType = root.lookupType('envoy.service.ext_proc.v3.ProcessingResponse');

export function encodeRequest(message: object): Uint8Array {
  return requestType.encode(requestType.fromObject(message)).finish();
}

/** A reply as a plain object, with defaults left out; its headroom must already be cut off. */
export function decodeResponse(bytes: Uint8Array): Record<string, unknown> {
  return responseType.toObject(responseType.decode(bytes), { enums: String });
}
