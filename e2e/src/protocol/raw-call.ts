/** An ext_proc call by bare HTTP/2, for bytes that no gRPC library would send. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';

export const processPath = '/envoy.service.ext_proc.v3.ExternalProcessor/Process';

/** Node's default of 10 would end this client before the server notices anything. */
const clientMemoryMb = 1_000;

export interface RawCall {
  readonly stream: ClientHttp2Stream;
  /** The `grpc-status` that the call ends with; '' when it is reset without one. */
  readonly grpcStatus: Promise<string>;
  write(bytes: Uint8Array): void;
  close(): void;
}

export async function rawSession(port: number): Promise<ClientHttp2Session> {
  const session = connect(`http://127.0.0.1:${port}`, { maxSessionMemory: clientMemoryMb });
  session.on('error', () => {});
  await new Promise<void>((resolve) => session.once('connect', () => resolve()));
  return session;
}

export async function rawCall(
  port: number,
  existing?: ClientHttp2Session,
  headers: Record<string, string> = {},
): Promise<RawCall> {
  const session = existing ?? (await rawSession(port));
  const stream = session.request({
    ':method': 'POST',
    ':path': processPath,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  stream.on('error', () => {});
  stream.resume();
  const grpcStatus = new Promise<string>((resolve) => {
    let status = '';
    const note = (received: Record<string, unknown>) => {
      status = String(received['grpc-status'] ?? status);
    };
    stream.on('response', note);
    stream.on('trailers', note);
    stream.on('close', () => resolve(status));
  });
  return {
    stream,
    grpcStatus,
    write: (bytes) => stream.write(bytes),
    close: () => (existing === undefined ? session.destroy() : stream.close()),
  };
}

/** A gRPC frame around a message. */
export function frame(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
