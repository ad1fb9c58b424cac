/**
 * Builds the ProcessingResponse messages of `envoy.service.ext_proc.v3`.
 *
 * Every message is returned with {@link messageHeadroomBytes} free bytes in front, in which the
 * transport puts its own frame header: a reply then is one buffer and one write. What is sent again
 * and again (no-op replies, the reply that carries a pick) is built once and shared between
 * streams, so nobody may write into a message but the transport, and that always the same bytes.
 *
 * Headers are written with `raw_value` only (a gateway refuses a header that has both) and always
 * overwrite; `clear_route_cache` is never set; under `envoy.lb` there is one key, the destination.
 */
import { header } from '../headers.ts';
import { bytesField, textField, varintField } from './writer.ts';

/** Free bytes before each message, for gRPC's flag and length. */
export const messageHeadroomBytes = 5;

export const lbNamespace = 'envoy.lb';

/** Which message a reply answers, by the field number of the reply. */
export const ReplyTo = {
  requestHeaders: 1,
  responseHeaders: 2,
  requestBody: 3,
  responseBody: 4,
  requestTrailers: 5,
  responseTrailers: 6,
} as const;
export type ReplyTo = (typeof ReplyTo)[keyof typeof ReplyTo];

const overwriteIfExistsOrAdd = 2;

/** A header to set, with its name in lower case. */
export type HeaderToSet = readonly [name: string, value: string];

/** A message of `parts` with headroom in front. */
function message(...parts: readonly Uint8Array[]): Buffer {
  return Buffer.concat([Buffer.alloc(messageHeadroomBytes), ...parts]);
}

/** A `HeaderMutation` in the given field of its parent. */
function headerMutation(
  field: number,
  set: readonly HeaderToSet[],
  remove: readonly string[],
): Buffer {
  const parts: Buffer[] = set.map(([name, value]) =>
    bytesField(
      1,
      bytesField(1, textField(1, name), bytesField(3, Buffer.from(value, 'latin1'))),
      varintField(3, overwriteIfExistsOrAdd),
    ),
  );
  for (const name of remove) parts.push(textField(2, name));
  return bytesField(field, ...parts);
}

/** The pick as dynamic metadata: field 8, a `Struct` of namespaces. */
function pickMetadata(destination: string): Buffer {
  const value = textField(3, destination);
  const inner = bytesField(1, textField(1, header.destination), bytesField(2, value));
  const namespaceValue = bytesField(5, inner);
  return bytesField(8, bytesField(1, textField(1, lbNamespace), bytesField(2, namespaceValue)));
}

/** "Go on", without any change. */
export function noOpReply(to: ReplyTo): Buffer {
  return noOps[to - 1]!;
}
const noOps = Object.values(ReplyTo).map((to) => message(bytesField(to)));

/**
 * The answer that carries a pick: destination in a header and in metadata. Trailers cannot change
 * request headers, so there the metadata stands alone.
 */
export function pickReply(to: ReplyTo, destination: string): Buffer {
  const metadata = pickMetadata(destination);
  if (to === ReplyTo.requestTrailers) return message(bytesField(to), metadata);
  const mutation = headerMutation(2, [[header.destination, destination]], []);
  return message(bytesField(to, bytesField(1, mutation)), metadata);
}

/** Changes headers: for request or response headers. */
export function headersReply(
  to: ReplyTo,
  set: readonly HeaderToSet[],
  remove: readonly string[],
): Buffer {
  return message(bytesField(to, bytesField(1, headerMutation(2, set, remove))));
}

/** A response made by the picker instead of by an engine. */
export interface Refusal {
  httpStatus: number;
  headers: readonly HeaderToSet[];
  body: string;
  /** Set for gRPC clients only. */
  grpcStatus: number | undefined;
  /** Shows up in the gateway's access log. */
  details: string;
}

export function immediateReply(refusal: Refusal): Buffer {
  const parts = [
    bytesField(1, varintField(1, refusal.httpStatus)),
    headerMutation(2, refusal.headers, []),
    textField(3, refusal.body),
  ];
  if (refusal.grpcStatus !== undefined) {
    parts.push(bytesField(4, varintField(1, refusal.grpcStatus)));
  }
  parts.push(textField(5, refusal.details));
  return message(bytesField(7, ...parts));
}
