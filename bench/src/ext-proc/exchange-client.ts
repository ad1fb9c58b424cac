/**
 * The gateway's side: 4 connections × 32 streams, each stream one exchange of request headers and a
 * body of 1 KB in full duplex, ended by a half-close as neither server minds it. Bytes are laid out
 * once, so that the client costs as little as it can.
 */
import { type ClientHttp2Session, connect } from 'node:http2';
import { framed } from './messages.ts';

export const connectionCount = 4;
export const streamsPerConnection = 32;

/** Headers as an Envoy in front of a chat client sends them. */
const requestHeaders: Record<string, string> = {
  ':authority': 'models.example.com',
  ':path': '/v1/chat/completions',
  ':method': 'POST',
  ':scheme': 'http',
  'user-agent': 'OpenAI/Python 2.8.0',
  accept: 'application/json',
  'content-type': 'application/json',
  authorization: 'Bearer sk-0123456789abcdef0123456789abcdef',
  'x-forwarded-proto': 'http',
  'x-forwarded-for': '192.0.2.7',
  'x-envoy-expected-rq-timeout-ms': '600000',
  'content-length': '1024',
};

function requestBody(): Buffer {
  const start = '{"model":"bench","stream":true,"messages":[{"role":"user","content":"';
  const end = '"}]}';
  return Buffer.from(start + 'word '.repeat(205).slice(0, 1_024 - start.length - end.length) + end);
}

const body = framed({ request_body: { body: requestBody(), end_of_stream: true } });

/** Headers and body of one request, as the bytes of a stream. */
export function requestOf(requestId: string): Buffer {
  const headers = Object.entries({ ...requestHeaders, 'x-request-id': requestId });
  const head = framed({
    request_headers: {
      headers: {
        headers: headers.map(([key, value]) => ({ key, raw_value: Buffer.from(value) })),
      },
    },
    protocol_config: { request_body_mode: 4, response_body_mode: 4 },
  });
  return Buffer.concat([head, body]);
}

/** One exchange; `onEnd` is called once, with whether the picker answered with all it should. */
export function exchange(
  session: ClientHttp2Session,
  request: Buffer,
  onEnd: (answered: boolean) => void,
): void {
  const stream = session.request({
    ':method': 'POST',
    ':path': '/envoy.service.ext_proc.v3.ExternalProcessor/Process',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  stream.on('error', () => {});
  // The destination in headers and metadata, and the echoed body.
  stream.on('close', () => onEnd(bytes >= 1_024 + 100));
  stream.end(request);
}

export class ExchangeClient {
  readonly #sessions: ClientHttp2Session[];
  /** Requests with ids of their own, used again and again. */
  readonly #requests: Buffer[];
  #running = false;
  #exchanges = 0;
  #failed = 0;
  #open = 0;
  #onIdle: (() => void) | undefined;

  constructor(port: number) {
    this.#requests = Array.from({ length: 1_024 }, (_, i) => requestOf(`request-${i}`));
    this.#sessions = Array.from({ length: connectionCount }, () =>
      connect(`http://127.0.0.1:${port}`),
    );
  }

  get exchanges(): number {
    return this.#exchanges;
  }

  get failed(): number {
    return this.#failed;
  }

  start(): void {
    this.#running = true;
    for (const session of this.#sessions) {
      for (let i = 0; i < streamsPerConnection; i++) this.#exchange(session);
    }
  }

  /** Resolves when the last exchange has ended. */
  stop(): Promise<void> {
    this.#running = false;
    return new Promise((resolve) => {
      this.#onIdle = () => {
        for (const session of this.#sessions) session.close();
        resolve();
      };
      if (this.#open === 0) this.#onIdle();
    });
  }

  #exchange(session: ClientHttp2Session): void {
    this.#open++;
    const request = this.#requests[this.#exchanges % this.#requests.length] as Buffer;
    exchange(session, request, (answered) => {
      if (!answered) this.#failed++;
      this.#exchanges++;
      this.#open--;
      if (this.#running) this.#exchange(session);
      else if (this.#open === 0) this.#onIdle?.();
    });
  }
}
