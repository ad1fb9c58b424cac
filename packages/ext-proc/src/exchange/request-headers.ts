/** What the request's headers say about how to treat it. */
import { header } from '../headers.ts';
import type { HeaderList } from '../protobuf/header-list.ts';

/** The client expects gRPC, so a refusal needs a gRPC status. */
export function isGrpcRequest(headers: HeaderList | undefined): boolean {
  return headers?.get(header.contentType)?.startsWith('application/grpc') ?? false;
}

/** The body may never end: a tunnel or a protocol of its own follows. */
export function isUpgrade(headers: HeaderList): boolean {
  if (headers.get(header.method) === 'CONNECT') return true;
  const connection = headers.get(header.connection);
  if (connection === undefined || headers.get(header.upgrade) === undefined) return false;
  return connection.toLowerCase().includes('upgrade');
}

/** The body is announced as larger than `bytesMax`. */
export function lengthAbove(headers: HeaderList, bytesMax: number): boolean {
  const length = headers.get(header.contentLength);
  return length !== undefined && Number(length) > bytesMax;
}
