/**
 * What large bodies do to everything else on a worker: 20 chat bodies of 8 MB at once, in chunks of
 * 60 KB as a gateway sends them and, likewise, as single buffered messages. Told is the longest
 * time for which the worker's event loop was not looked at, by its own clock.
 */
import { type ClientHttp2Session, connect } from 'node:http2';
import { framed } from './messages.ts';

const bodies = 20;
const bodyBytes = 8 * 1_048_576;
const chunkBytes = 60_000;

const headers = (mode: number): Buffer =>
  framed({
    request_headers: {
      headers: { headers: [{ key: 'content-type', raw_value: Buffer.from('application/json') }] },
    },
    protocol_config: { request_body_mode: mode },
  });

function chatBody(): Buffer {
  const start = '{"model":"bench","messages":[{"role":"user","content":"';
  const end = '"}]}';
  const text = 'word '
    .repeat(Math.ceil(bodyBytes / 5))
    .slice(0, bodyBytes - start.length - end.length);
  return Buffer.from(start + text + end);
}

/** Sends all bodies at once and resolves when each has its pick. */
export async function sendLargeBodies(port: number, mode: 'duplex' | 'buffered'): Promise<void> {
  const session = connect(`http://127.0.0.1:${port}`, { maxSessionMemory: 2_000 });
  const body = chatBody();
  const messages = [headers(mode === 'duplex' ? 4 : 2)];
  const step = mode === 'duplex' ? chunkBytes : body.length;
  for (let at = 0; at < body.length; at += step) {
    const part = body.subarray(at, at + step);
    messages.push(
      framed({ request_body: { body: part, end_of_stream: at + step >= body.length } }),
    );
  }
  // A buffered body has two replies, headers and pick; one in full duplex is echoed in full.
  const expectedBytes = mode === 'duplex' ? body.length : 130;
  await Promise.all(
    Array.from({ length: bodies }, () => exchange(session, messages, expectedBytes)),
  );
  session.destroy();
}

function exchange(
  session: ClientHttp2Session,
  messages: readonly Buffer[],
  expectedBytes: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': '/envoy.service.ext_proc.v3.ExternalProcessor/Process',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    let received = 0;
    stream.on('error', reject);
    stream.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received >= expectedBytes) {
        stream.end();
        resolve();
      }
    });
    for (const message of messages) stream.write(message);
  });
}
