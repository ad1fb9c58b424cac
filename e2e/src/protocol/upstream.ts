/** An HTTP/1.1 server in an engine's place that remembers exactly what arrived. */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenHttpRequest {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  /** As on the wire: name, value, name, value, …, so that a repeated header shows. */
  rawHeaders: string[];
  trailers: NodeJS.Dict<string>;
  bytes: number;
  sha256: string;
  /** Only of small bodies. */
  body: string;
}

export interface Upstream {
  readonly port: number;
  readonly address: string;
  readonly requests: SeenHttpRequest[];
  /** Answers a request whose body has been read. */
  respond: (request: SeenHttpRequest, response: ServerResponse) => void;
  stop(): Promise<void>;
}

const keptBodyBytes = 65_536;

export const completionJson = JSON.stringify({
  choices: [{ text: 'ok' }],
  usage: { prompt_tokens: 3, completion_tokens: 7 },
});

export async function startUpstream(): Promise<Upstream> {
  const requests: SeenHttpRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const hash = createHash('sha256');
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const chunk of incoming as AsyncIterable<Buffer>) {
        hash.update(chunk);
        if (bytes < keptBodyBytes) chunks.push(chunk);
        bytes += chunk.length;
      }
    } catch {
      return;
    }
    const request: SeenHttpRequest = {
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      headers: incoming.headers,
      rawHeaders: incoming.rawHeaders,
      trailers: incoming.trailers,
      bytes,
      sha256: hash.digest('hex'),
      body: Buffer.concat(chunks).toString('utf8'),
    };
    if (requests.length < 1_000) requests.push(request);
    upstream.respond(request, response);
  });
  // A pooled connection that the server closes just as it is used would look like a failed request.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const upstream: Upstream = {
    port,
    address: `127.0.0.1:${port}`,
    requests,
    respond: (_, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(completionJson);
    },
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return upstream;
}

export function sha256(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}
