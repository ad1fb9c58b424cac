/**
 * Gives body bytes back to the gateway as `streamed_response`, unchanged.
 *
 * Cost: an echoed chunk is one allocation and one copy.
 */
import type { BodyMode } from '../body-mode.ts';
import type { ProcessingRequest } from './processing-request.ts';
import { messageHeadroomBytes, type ReplyTo } from './processing-response.ts';
import { varintBytes, writeVarint } from './writer.ts';

/** The most body bytes in one streamed reply: below Envoy's 64 KiB, framing included. */
export const echoBytesMax = 62_000;

/** The flags of a streamed reply, which have the meaning and the numbers of those of a body. */
export const EchoFlag = { none: 0, endOfStream: 1, endsWithoutMessage: 2, compressed: 4 } as const;
const flagTags = [0x10, 0x18, 0x20] as const;

interface Sender {
  send(message: Uint8Array): void;
}

/** One streamed reply with all of `body`; `flags` is a sum of {@link EchoFlag}. */
export function echoReply(to: ReplyTo, body: Uint8Array, flags: number): Buffer {
  const length = body.length;
  let streamed = length === 0 ? 0 : 1 + varintBytes(length) + length;
  for (let left = flags; left > 0; left >>>= 1) streamed += 2 * (left & 1);
  const mutation = 1 + varintBytes(streamed) + streamed;
  const common = 1 + varintBytes(mutation) + mutation;
  const bodyResponse = 1 + varintBytes(common) + common;
  const total = 1 + varintBytes(bodyResponse) + bodyResponse;
  const out = Buffer.allocUnsafe(messageHeadroomBytes + total);
  let at = messageHeadroomBytes;
  out[at] = to * 8 + 2;
  at = writeVarint(out, at + 1, bodyResponse);
  out[at] = 0x0a;
  at = writeVarint(out, at + 1, common);
  out[at] = 0x1a;
  at = writeVarint(out, at + 1, mutation);
  out[at] = 0x1a;
  at = writeVarint(out, at + 1, streamed);
  if (length > 0) {
    out[at] = 0x0a;
    at = writeVarint(out, at + 1, length);
    out.set(body, at);
    at += length;
  }
  for (let flag = 0; flag < flagTags.length; flag++) {
    if ((flags & (1 << flag)) === 0) continue;
    out[at++] = flagTags[flag]!;
    out[at++] = 1;
  }
  return out;
}

/**
 * Echoes bytes in as many replies as their size asks for; only the last may end the stream. No
 * bytes that do not end the body need no reply.
 */
export function echoBytes(
  sender: Sender,
  to: ReplyTo,
  body: Uint8Array,
  endOfStream: boolean,
): void {
  let from = 0;
  for (; from + echoBytesMax < body.length; from += echoBytesMax) {
    sender.send(echoReply(to, body.subarray(from, from + echoBytesMax), EchoFlag.none));
  }
  if (from === body.length && !endOfStream) return;
  const flags = endOfStream ? EchoFlag.endOfStream : EchoFlag.none;
  sender.send(echoReply(to, from === 0 ? body : body.subarray(from), flags));
}

/**
 * Echoes the body message that has just come: in mode GRPC it is one gRPC message, which is never
 * cut and keeps its flags, also when it is empty; else it is bytes.
 */
export function echoMessage(
  sender: Sender,
  to: ReplyTo,
  message: ProcessingRequest,
  mode: BodyMode,
): void {
  if (!mode.keepsMessages) {
    echoBytes(sender, to, message.body, message.endOfStream);
    return;
  }
  let flags: number = EchoFlag.none;
  if (message.endsWithoutMessage) flags |= EchoFlag.endsWithoutMessage;
  else if (message.endOfStream) flags |= EchoFlag.endOfStream;
  if (message.isMessageCompressed) flags |= EchoFlag.compressed;
  sender.send(echoReply(to, message.body, flags));
}
