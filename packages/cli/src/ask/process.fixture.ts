/** A process of ours, or of others, as its HTTP side looks from outside. For tests. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A body is sent as it is, an object as JSON; a status without a body says itself. */
export type FakePage =
  | string
  | object
  | ((request: IncomingMessage) => { status?: number; body?: string | object });

export interface FakeProcess {
  url: string;
  /** Pages by path; others are 404. */
  pages: Record<string, FakePage>;
  close(): Promise<void>;
}

/** Listens on a port of the system's choice. `version` '' says none. */
export async function startFakeProcess(
  pages: Record<string, FakePage>,
  version = '0.1.0',
): Promise<FakeProcess> {
  const fake: FakeProcess = { url: '', pages, close: async () => {} };
  const server = createServer((request, response) => {
    const page = fake.pages[request.url!.split('?', 1)[0]!];
    const answer =
      typeof page === 'function'
        ? page(request)
        : page === undefined
          ? { status: 404 }
          : { body: page };
    if (version !== '') response.setHeader('x-leadsman-version', version);
    response.statusCode = answer.status ?? 200;
    const { body = '' } = answer;
    if (typeof body !== 'string') response.setHeader('content-type', 'application/json');
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  fake.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  fake.close = () =>
    new Promise<void>((done) => {
      server.closeAllConnections();
      server.close(() => done());
    });
  return fake;
}
